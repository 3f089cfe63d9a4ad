"""Outputs of a run: never over an input, all or none, and one sentence where nobody can write."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import quorate
from quorate.cli import main
from quorate.cli.commands import SUMMARIES

VOTES = "task,worker,label\n" + "".join(
    f"t{t},{w},{'yes' if (t + i) % 3 else 'no'}\n" for t in range(9) for i, w in enumerate("abcd")
)
FILES = {
    "votes.csv": VOTES,
    "more.csv": VOTES,
    "gold.csv": "task,label\nt1,yes\n",
    "kinds.csv": "worker,kind\na,human\n",
    "features.csv": "task,feature\nt1,round\n",
    "prior.csv": "worker,truth,label,count\na,yes,yes,3\n",
    "available.csv": "worker\na\n",
    "pairs.csv": "task,worker\nt1,a\n",
}
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(quorate.__file__).parents[1])}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    return tmp_path


def shell(command: str) -> subprocess.CompletedProcess[str]:
    """A line of the shell, in which `quorate` is the command."""
    line = command.replace("quorate", f"{sys.executable} -m quorate", 1)
    run = ["bash", "-c", f"{line}; exit ${{PIPESTATUS[0]}}"]
    return subprocess.run(run, capture_output=True, text=True, check=False, env=ENVIRONMENT)


@pytest.mark.parametrize(
    "command",
    [
        "aggregate votes.csv -o votes.csv",
        "votes.csv -o votes.csv",
        "aggregate votes.csv --workers ./votes.csv",
        "aggregate votes.csv --posterior votes.csv",
        "aggregate votes.csv --save votes.csv",
        "aggregate votes.csv more.csv -o more.csv",
        "aggregate m*.csv -o more.csv",
        "aggregate votes.csv --gold gold.csv -o gold.csv",
        "aggregate votes.csv --worker-kinds kinds.csv --workers kinds.csv",
        "aggregate votes.csv -m naive-bayes --features features.csv -o features.csv",
        "aggregate votes.csv -m dawid-skene --set worker_prior=prior.csv -o prior.csv",
        "diagnose votes.csv --workers votes.csv",
        "compare votes.csv --gold gold.csv -o gold.csv",
        "assign votes.csv --budget 1 --available available.csv -o available.csv",
        "simulate --assignment pairs.csv -o pairs.csv",
    ],
)
def test_no_output_is_an_input(command: str) -> None:
    result = CliRunner().invoke(main, command.split())
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1 and "is an input too" in result.stderr
    assert {path.name: path.read_text() for path in Path().iterdir()} == FILES


def test_standard_input_and_output_are_files_too() -> None:
    for command in (
        "quorate aggregate - -o votes.csv < votes.csv",
        "quorate aggregate votes.csv -o - >> votes.csv",
    ):
        done = shell(command)
        assert done.returncode == 2 and "is an input too" in done.stderr
        assert Path("votes.csv").read_text() == VOTES


@pytest.mark.parametrize(
    "args", ["-o - --workers w.csv", "-q -o - --save r.quorate", "--json -o l.csv", "-o l.csv", ""]
)
def test_a_full_standard_output_is_one_sentence_and_leaves_no_file(args: str) -> None:
    done = shell(f"quorate aggregate votes.csv -m majority {args} >/dev/full")
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if line.startswith("quorate: ")]
    assert lines == ["quorate: Standard output cannot be written: No space left on device."]
    assert "Traceback" not in done.stderr
    assert {path.name for path in Path().iterdir()} == set(FILES)


@pytest.mark.parametrize(
    "command", ["--help", "methods", "aggregate votes.csv -q -o -", "--version"]
)
def test_a_closed_standard_output_is_one_sentence(command: str) -> None:
    done = shell(f"quorate {command} >&-")
    assert done.returncode == 1
    assert done.stderr == "quorate: Standard output cannot be written: Bad file descriptor.\n"


def test_nobody_listens_and_nothing_is_said() -> None:
    done = shell("quorate aggregate votes.csv -q -o labels.csv >&- 2>&-")
    assert done.returncode == 0 and len(Path("labels.csv").read_text().splitlines()) == 10


@pytest.mark.parametrize(
    "command", ["--help", "methods", "aggregate votes.csv -q -o - --workers w.csv"]
)
def test_a_reader_that_has_gone_is_not_spoken_of(command: str) -> None:
    done = shell(f"quorate {command} | true")
    assert (done.returncode, done.stderr) in [(141, ""), (0, "")]  # 0: it was in the pipe already
    if done.returncode:
        assert not Path("w.csv").exists()


@pytest.mark.parametrize(
    "option", ["-o", "--workers", "--save", "--gold", "--worker-kinds", "votes"]
)
def test_a_name_that_is_too_long(option: str) -> None:
    name = "x" * 300 + ".csv"
    args = ["aggregate", name] if option == "votes" else ["aggregate", "votes.csv", option, name]
    result = CliRunner().invoke(main, args)
    assert result.exit_code == 1 and result.stderr.endswith(": File name too long.\n")


@pytest.mark.parametrize("args", [[""], ["votes.csv", "--gold", ""], ["votes.csv", "-o", ""]])
def test_an_empty_name(args: list[str]) -> None:
    result = CliRunner().invoke(main, ["aggregate", *args])
    assert result.exit_code in (1, 2) and " is empty" in result.stderr


def test_the_list_of_commands_says_what_their_help_says() -> None:
    assert {
        name: main.commands[name].get_short_help_str(100) for name in main.commands
    } == SUMMARIES


@pytest.mark.parametrize(
    "args",
    [
        ["aggregate", "no\x1b[2J.csv"],
        ["aggregate", "votes.csv", "--\x1b[2J"],
        ["aggregate", "votes.csv", "-o", "none/\x1b[2J.csv"],
        ["explain", "votes.csv", "--task", "\x1b[2J"],
        ["\x1b[2J"],
    ],
)
def test_what_was_given_cannot_command_the_terminal(args: list[str]) -> None:
    result = CliRunner().invoke(main, args)
    assert result.exit_code in (1, 2) and "\\x1b[2J" in result.stderr
    assert "\x1b" not in result.output


@pytest.mark.parametrize("command", ["aggregate", "diagnose", "explain", "compare", "assign"])
def test_names_of_the_votes_cannot_command_the_terminal(command: str) -> None:
    evil = ["\x1b[2J\x1b]0;pwn\x07", "[/]", "[/x]", "\u202eevil"]
    rows = [(t, w, evil[(i + j) % 2]) for i, t in enumerate(evil) for j, w in enumerate(evil)]
    text = "task,worker,label\n" + "".join(f"{','.join(row)}\n" for row in rows)
    Path("evil.csv").write_text(text)
    Path("evil-kinds.csv").write_text(f"worker,kind\n{evil[1]},{evil[2]}\n{evil[2]},{evil[0]}\n")
    more = {
        "diagnose": ["--worker-kinds", "evil-kinds.csv"],
        "explain": [arg for task in evil for arg in ("--task", task)],
        "compare": ["-m", "majority", "-m", "dawid-skene"],
        "assign": ["--budget", "2"],
    }
    result = CliRunner().invoke(main, [command, "evil.csv", *more.get(command, [])])
    assert result.exit_code == 0, result.output
    assert all(c.isprintable() or c == "\n" for c in result.output)
