"""The command line: what is printed where, what is written, and how it exits."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result

import quorate
from quorate.cli import main
from quorate.models import METHODS

WORKERS = ["ann", "bob", "cid", "dan", "eve", "fay", "gus", "hal", "ida", "jim", "kim", "lea"]
VOTES = [
    (f"t{task:02}", worker, "yes" if (task * 7 + i * i * task) % 11 < 5 + (i % 4) else "no")
    for task in range(30)
    for i, worker in enumerate(WORKERS)
    if (task + i) % 3
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    table = pl.DataFrame(VOTES, schema=["task", "worker", "label"], orient="row")
    table.write_csv("votes.csv")
    return tmp_path


def run(*args: str, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(main, args, input=stdin)


def succeed(*args: str, stdin: bytes = b"") -> Result:
    result = run(*args, stdin=stdin)
    assert result.exit_code == 0, result.stderr
    return result


def strict(text: str) -> Any:
    """JSON as the standard has it: no NaN, no Infinity."""
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def lines(text: str) -> list[str]:
    """Without the spaces that make columns."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def shell(*args: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """The command as a shell runs it."""
    script = Path(sys.executable).with_name("quorate")
    return subprocess.run([script, *args], capture_output=True, check=False, **options)


# aggregate


def test_what_was_read_and_found_and_how() -> None:
    Path("votes.csv").write_bytes(
        Path("votes.csv").read_bytes() + b"t01,ann,\nt02,,yes\nt01,bob,no\n"
    )
    method = ("-m", "dawid-skene")
    result = succeed("aggregate", "votes.csv", *method)
    summary = strict(succeed("aggregate", "votes.csv", "--json", *method).stdout)
    printed = lines(result.stdout)
    found, how = summary["found"], summary["how"]
    shares = sorted(found["class_shares"].items(), key=lambda item: -item[1])
    error, low, high = found["expected_error"].values()
    assert printed[:12] == [
        "Read",
        "tasks 30",
        "workers 12",
        f"labels {len(VOTES) + 1}",
        "classes 2",
        "dropped rows 2 (2 with a missing field)",
        "repeated rows 1, counted",
        "Found",
        "class shares " + ", ".join(f"{name} {share:.1%}" for name, share in shares),
        f"mean confidence {found['mean_confidence']:.3f}",
        f"expected error {error:.1%} (90 % interval {low:.1%} to {high:.1%})",
        f"tasks near a tie {found['near_ties']}",
    ]
    workers = [
        f"{w['worker']} {w['labels']} {w['accuracy']:.3f} {w['low']:.3f} to {w['high']:.3f}"
        for w in [*found["best_workers"], *reversed(found["worst_workers"])]
    ]
    assert printed[12:14] == ["Workers", "worker labels accuracy 95 % interval"]
    assert printed[14:24] == workers and len(set(workers)) == 10
    assert printed[24:28] == [
        "How",
        "method dawid-skene",
        f"iterations {how['iterations']}, converged",
        f"log-likelihood {how['log_likelihood']:,.2f}",
    ]
    assert printed[28].startswith("seconds ")
    assert printed[29:] == ["The labels themselves: -o labels.csv, or -o - for standard output."]
    assert result.stderr == ""


def test_the_summary_as_json() -> None:
    result = succeed("aggregate", "votes.csv", "--json", "--gold", "-", stdin=b"task,label\nx,no\n")
    assert result.stderr == ""
    summary = strict(result.stdout)
    assert list(summary) == ["read", "found", "how", "notes"]
    assert summary["read"] == {
        "tasks": 30,
        "workers": 12,
        "labels": len(VOTES),
        "classes": 2,
        "rows": len(VOTES),
        "dropped_missing": 0,
        "dropped_repeats": 0,
        "repeats_counted": 0,
    }
    expected = quorate.aggregate(VOTES)
    found, how = summary["found"], summary["how"]
    assert found["mean_confidence"] == pytest.approx(expected.confidence.mean())
    assert sum(found["class_shares"].values()) == pytest.approx(1)
    best = expected.workers.sort("low", descending=True).head(5)
    assert [worker["worker"] for worker in found["best_workers"]] == best["worker"].to_list()
    worst = expected.workers.sort("high").head(5)
    assert [worker["worker"] for worker in found["worst_workers"]] == worst["worker"].to_list()
    assert how["method"] == "auto" and how["converged"] is True
    assert sum(how["mixture"]["weights"].values()) == pytest.approx(1)
    assert found["expected_error"]["low"] < found["expected_error"]["high"]
    assert how["iterations"] == expected.iterations
    assert how["objective"] == expected.objective[-1]
    assert how["version"] == quorate.__version__
    gone = "1 of 1 gold answers are of tasks without votes, and are left out."
    assert summary["notes"][0] == gone


def test_notes_are_printed() -> None:
    Path("one.csv").write_text("task,worker,label\n1,ann,yes\n")
    printed = lines(succeed("aggregate", "one.csv").stdout)
    assert "Note: All votes say 'yes': there is nothing to decide." in printed


def test_no_infinity_in_json() -> None:
    Path("v.csv").write_text("task,worker,label\n1,ann,yes\n1,bob,no\n2,ann,no\n")
    options = (
        "-m",
        "dawid-skene",
        "--prior",
        "yes=1,no=0",
        "--max-iter",
        "1",
        "--gold",
        "gold.csv",
    )
    Path("gold.csv").write_text("task,label\n2,no\n")
    how = strict(succeed("aggregate", "v.csv", "--json", *options).stdout)["how"]
    assert how["objective"] is None and how["log_likelihood"] is None
    assert "inf" not in succeed("aggregate", "v.csv", *options).stdout


@pytest.mark.parametrize("names", [[1.5, float("inf")], [1, 2], [True, False], ["a", "b"]])
def test_names_of_any_type_in_json(names: list[Any]) -> None:
    pl.DataFrame({"task": names, "worker": names, "label": names}).write_parquet("v.parquet")
    summary = strict(succeed("aggregate", "v.parquet", "-m", "majority", "--json").stdout)
    shown = {worker["worker"] for worker in summary["found"]["best_workers"]}
    assert shown == {name if name != float("inf") else "inf" for name in names}


def test_dates_in_json() -> None:
    dates = pl.Series(["2024-02-29"]).str.to_date()
    pl.DataFrame({"task": dates, "worker": dates, "label": dates}).write_parquet("v.parquet")
    found = strict(succeed("aggregate", "v.parquet", "--json").stdout)["found"]
    assert found["best_workers"][0]["worker"] == "2024-02-29"
    assert found["class_shares"] == {"2024-02-29": 1}


def test_only_the_table_goes_to_standard_output() -> None:
    expected = quorate.aggregate("votes.csv")
    result = succeed("aggregate", "votes.csv", "-o", "-")
    assert result.stdout == expected.labels.write_csv()
    assert lines(result.stderr)[0] == "Read"
    result = succeed("aggregate", "votes.csv", "-o", "-", "--json")
    assert result.stdout == expected.labels.write_csv()
    assert strict(result.stderr)["read"]["tasks"] == 30
    result = succeed("aggregate", "votes.csv", "--workers", "-", "-o", "labels.csv")
    assert result.stdout == expected.workers.write_csv()
    assert Path("labels.csv").read_text() == expected.labels.write_csv()


def test_standard_input_to_standard_output() -> None:
    content = Path("votes.csv").read_bytes()
    result = succeed("aggregate", "-", "-o", "-", stdin=content)
    assert result.stdout == quorate.aggregate(VOTES).labels.write_csv()


READ = {
    ".csv": pl.read_csv,
    ".tsv": lambda path: pl.read_csv(path, separator="\t"),
    ".jsonl": pl.read_ndjson,
    ".parquet": pl.read_parquet,
}


@pytest.mark.parametrize("suffix", READ)
def test_every_table_in_every_format(suffix: str) -> None:
    tables = ("labels", "workers", "posterior", "confusion")
    options = {"labels": "-o"} | {name: f"--{name}" for name in tables[1:]}
    args = [arg for name in tables for arg in (options[name], f"{name}{suffix}")]
    result = succeed("aggregate", "votes.csv", *args, "--save", "all.quorate")
    assert "The labels themselves" not in result.stdout
    back = quorate.load("all.quorate")
    for name in tables:
        assert READ[suffix](f"{name}{suffix}").equals(getattr(back, f"{name}_frame"))
    assert back.labels.equals(quorate.aggregate("votes.csv").labels)
    written = {path.name for path in Path().iterdir()}
    assert written == {f"{name}{suffix}" for name in tables} | {"votes.csv", "all.quorate"}


def test_majority_has_no_confusion_to_write() -> None:
    result = run("aggregate", "votes.csv", "-m", "majority", "-o", "a.csv", "--confusion", "b.csv")
    assert result.exit_code == 2
    assert result.stderr == "quorate: majority has no confusion matrices.\n"
    assert [path.name for path in Path().iterdir()] == ["votes.csv"]


def test_a_class_called_task_in_the_posterior() -> None:
    Path("v.csv").write_text("task,worker,label\n1,ann,task\n1,bob,no\n")
    succeed("aggregate", "v.csv", "--posterior", "p.csv")


ODD = ["[red]x[/red]", "[/]", "[bold", ":smile:", "[link=x]y[/link]", "\\[x]", "{task}", "%s"]


def test_names_that_look_like_markup_are_printed_as_they_are() -> None:
    rows = [(name, name, name) for name in ODD[:5]] + [(ODD[0], name, ODD[0]) for name in ODD]
    pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row").write_csv("v.csv")
    result = succeed("aggregate", "v.csv", "-m", "majority")
    printed = lines(result.stdout)
    for name in ODD[:5]:
        assert any(line.startswith(f"{name} 2 ") for line in printed)
        assert f"{name} 20.0%" in " ".join(printed)
    Path("one.csv").write_text("task,worker,label\n1,[/],[/]\n")
    printed = lines(succeed("aggregate", "one.csv").stdout)
    assert "Note: All votes say '[/]': there is nothing to decide." in printed


def test_names_that_look_like_markup_in_errors() -> None:
    Path("[red]v.csv").write_text("[/],worker,label\n1,2,3\n")
    assert run("aggregate", "[red]v.csv").stderr == (
        "quorate: [red]v.csv has no column 'task': its columns are [/], worker, label; say which it"
        " is with task_column (--task-column).\n"
    )


def test_names_cannot_command_the_terminal() -> None:
    name = "\x1b[31mred\x07\nline"
    rows = [(name, name, name), ("x", "y", "z")]
    pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row").write_csv("v.csv")
    result = succeed("aggregate", "v.csv")
    assert "\x1b" not in result.stdout and "\x07" not in result.stdout
    assert r"\x1b[31mred\x07\nline" in result.stdout
    assert name in succeed("aggregate", "v.csv", "-o", "-").stdout


def test_many_classes_are_not_all_shown() -> None:
    rows = [(i, "ann", f"class-{i:02}") for i in range(40)]
    pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row").write_csv("v.csv")
    assert "and 28 more" in " ".join(lines(succeed("aggregate", "v.csv", "-m", "majority").stdout))
    summary = strict(succeed("aggregate", "v.csv", "-m", "majority", "--json").stdout)
    assert len(summary["found"]["class_shares"]) == 40


@pytest.mark.parametrize(
    ("args", "options"),
    [
        ("-m majority --ties random --seed 3", {"ties": "random", "seed": 3}),
        ("-m dawid-skene --smoothing 0.5 --max-iter 3", {"smoothing": 0.5, "max_iter": 3}),
        ("-m dawid-skene --prior yes=0.7,no=0.3", {"prior": {"yes": 0.7, "no": 0.3}}),
        ("-m dawid-skene --prior uniform --zeros skip", {"prior": "uniform", "zeros": "skip"}),
        ("-m dawid-skene --prior-smoothing 2", {"prior_smoothing": 2}),
        ("-m dawid-skene --stop marginals --tol 0.01", {"stop": "marginals", "tol": 0.01}),
        ("-m hybrid --switch-at 0.1", {"switch_at": 0.1}),
        (
            "-m one-coin --beta 4,2 --low 0.2 --high 0.9",
            {"beta": (4, 2), "low": 0.2, "high": 0.9},
        ),
        ("-m dawid-skene --init vote --threads 1", {}),
        ("-m dawid-skene --repeats last", {"repeats": "last"}),
        ("-m dawid-skene --missing yes", {"missing": ["yes"]}),
    ],
)
def test_options_reach_the_method(args: str, options: dict[str, Any]) -> None:
    method = args.split()[1]
    expected = quorate.aggregate("votes.csv", method, **options)
    result = succeed("aggregate", "votes.csv", *args.split(), "-o", "-", "--json")
    assert result.stdout == expected.labels.write_csv()
    assert strict(result.stderr)["how"]["objective"] == expected.objective[-1]


@pytest.mark.parametrize("given", ["4", "4,2,1", "a,b", ""])
def test_beta_is_two_numbers(given: str) -> None:
    result = run("aggregate", "votes.csv", "-m", "one-coin", "--beta", given)
    assert result.exit_code == 2
    assert result.stderr == f"quorate: beta is two numbers such as 4,2; not {given!r}.\n"


def test_what_was_learned_can_be_used_again() -> None:
    succeed("aggregate", "votes.csv", "--save", "first.quorate", "--confusion", "confusion.csv")
    first = quorate.load("first.quorate")
    for option, given, expected in (
        ("--worker-prior", "first.quorate", {"worker_prior": first}),
        ("--init", "first.quorate", {"init": first}),
        ("--init", "confusion.csv", {"init": first}),
    ):
        result = succeed("aggregate", "votes.csv", "-m", "dawid-skene", option, given, "-o", "-")
        again = quorate.aggregate("votes.csv", "dawid-skene", **expected)
        assert result.stdout == again.labels.write_csv()


# Exit codes of the call itself


@pytest.mark.parametrize(
    "args",
    [
        ["aggregate"],
        ["aggregate", "votes.csv", "--colour", "red"],
        ["aggregate", "votes.csv", "--smoothing", "much"],
        ["aggregate", "votes.csv", "--threads", "0"],
        ["aggregate", "votes.csv", "--repeats", "never"],
        ["aggregate", "votes.csv", "--format", "xls"],
        ["aggregate", "votes.csv", "more.csv"],
        ["agregate", "votes.csv"],
        ["demo", "--tasks", "0"],
    ],
)
def test_a_wrong_call_exits_with_two(args: list[str]) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1].startswith("Error: ")


# The other commands


def test_methods_lists_every_method() -> None:
    printed = succeed("methods").stdout
    for name in METHODS:
        assert any(line.startswith(f"{name} ") for line in printed.splitlines())


def test_demo() -> None:
    result = succeed("demo", "--tasks", "60", "--seed", "1", "-o", "v.parquet")
    for name in ("majority", "dawid-skene", "expert-1", "guesser-8", "inverted"):
        assert name in result.stdout
    assert succeed("demo", "--tasks", "60", "--seed", "1").stdout in result.stdout
    summary = strict(succeed("aggregate", "v.parquet", "--json").stdout)
    assert summary["read"]["tasks"] == 60 and summary["read"]["labels"] == 300


def test_demo_with_a_name_that_looks_like_markup() -> None:
    assert "[red]v.csv" in succeed("demo", "--tasks", "20", "-o", "[red]v.csv").stdout


def test_version_and_help() -> None:
    assert succeed("--version").stdout == f"quorate, version {quorate.__version__}\n"
    for command in main.commands:
        assert command in succeed("--help").stdout
        assert succeed(command, "-h").stdout.startswith(f"Usage: main {command}")


# As a shell runs it


def test_a_run() -> None:
    done = shell("aggregate", "votes.csv", "-o", "-")
    assert done.returncode == 0
    assert done.stdout.decode() == quorate.aggregate(VOTES).labels.write_csv()
    assert b"\x1b" not in done.stderr and b"iteration " not in done.stderr


def test_a_failure_is_one_line() -> None:
    Path("bad.csv").write_bytes(b"task,worker,label\n1,2,3,4\n")
    done = shell("aggregate", "bad.csv", "-o", "labels.csv")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == (
        b"quorate: bad.csv, line 2 has 4 fields where the header has 3: quote fields that contain"
        b" the separator.\n"
    )
    assert not Path("labels.csv").exists()


def test_no_standard_input() -> None:
    done = shell("aggregate", "-", stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stderr) == (1, b"quorate: Standard input is empty.\n")


def test_a_reader_that_stops_early_is_no_failure_to_speak_of() -> None:
    rows = [(f"task-{i}", "ann", "yes") for i in range(20_000)]
    pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row").write_csv("v.csv")
    script = Path(sys.executable).with_name("quorate")
    command = [script, "aggregate", "v.csv", "-m", "majority", "-o", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


def test_a_terminal_of_another_encoding() -> None:
    Path("v.csv").write_text("task,worker,label\nü,ann,größer\n", encoding="utf-8")
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = shell("aggregate", "v.csv", "-o", "-", "--json", env=environment)
    assert done.returncode == 0
    rows = list(csv.reader(io.StringIO(done.stdout.decode("utf-8"))))
    assert rows[1][:2] == ["ü", "größer"]


def test_a_summary_on_a_terminal_of_another_encoding() -> None:
    Path("v.csv").write_text("task,worker,label\nü,ann,größer\n", encoding="utf-8")
    done = shell("aggregate", "v.csv", env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0


def test_as_a_module() -> None:
    command = [sys.executable, "-m", "quorate", "--version"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.stdout.split() == [b"quorate,", b"version", quorate.__version__.encode()]


def test_the_command_line_imports_nothing_heavy() -> None:
    heavy = "numpy", "polars", "scipy", "rich", "pandas", "pyarrow"
    code = f"import sys, quorate.cli; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"
