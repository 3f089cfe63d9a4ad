"""The command line: what is printed where, what is written, and how it exits."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import psutil
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

import quorate
from quorate.aggregation import aggregate
from quorate.cli import main
from quorate.errors import UsageError
from quorate.models import METHODS, make

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    monkeypatch.delenv("COLUMNS", raising=False)
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


COMMAND = [sys.executable, "-m", "quorate"]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(quorate.__file__).parents[1])}
ENVIRONMENT.pop("COLUMNS", None)  # as wide as need be, where there is no terminal


def shell(
    *args: str, stdin: int | None = None, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """The command as a shell runs it."""
    return subprocess.run(
        [*COMMAND, *args],
        capture_output=True,
        check=False,
        stdin=stdin,
        env=ENVIRONMENT | environment,
    )


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
        f"{w['worker']} {w['labels']} {w['agreement']:.3f}"
        for w in [*found["best_workers"], *found["worst_workers"]]
    ]
    assert printed[12:14] == ["5 best and 5 worst of 12 workers", "worker labels agreement"]
    assert printed[14:24] == workers and len(set(workers)) == 10
    assert printed[24:28] == [
        "How",
        "method dawid-skene",
        f"iterations {how['iterations']}, converged",
        f"log-likelihood {how['log_likelihood']:,.2f}",
    ]
    assert printed[28].startswith("seconds ") and len(printed) == 29
    hint = "The labels themselves: -o labels.csv, or -o - for standard output."
    assert lines(result.stderr) == [hint]


def test_workers_are_ranked_by_what_is_shown_among_those_with_enough_labels() -> None:
    rows = [*VOTES, *((f"t{task:02}", "new", "yes") for task in range(2))]
    pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row").write_csv("v.csv")
    result = succeed("aggregate", "v.csv", "-m", "majority")
    title = "5 best and 5 worst of 12 workers with 10 labels or more"
    printed = lines(result.stdout)
    agreements = [float(line.split()[-1]) for line in printed[printed.index(title) + 2 :][:10]]
    assert agreements == sorted(agreements, reverse=True)
    assert not any(line.startswith("new ") for line in printed)


def test_few_workers_are_all_shown() -> None:
    Path("v.csv").write_text("task,worker,label\n1,ann,yes\n1,bob,yes\n2,ann,no\n2,bob,no\n")
    printed = lines(succeed("aggregate", "v.csv").stdout)
    start = printed.index("Workers")
    assert [line.split()[0] for line in printed[start + 1 : start + 4]] == ["worker", "ann", "bob"]


def test_a_summary_does_not_start_an_estimation(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        pytest.fail("intervals were estimated for a summary")

    monkeypatch.setattr("quorate.result.accuracy_intervals", refuse)
    succeed("aggregate", "votes.csv")


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
        "format": None,
        "dropped_of_export": {},
    }
    expected = quorate.aggregate(VOTES)
    found, how = summary["found"], summary["how"]
    assert found["mean_confidence"] == pytest.approx(expected.confidence.mean())
    assert sum(found["class_shares"].values()) == pytest.approx(1)
    ranked = expected.workers.sort("agreement", descending=True, maintain_order=True)
    names = ranked["worker"].to_list()
    assert [worker["worker"] for worker in found["best_workers"]] == names[:5]
    assert [worker["worker"] for worker in found["worst_workers"]] == names[-5:]
    assert found["ranked_workers"] == 12
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


def test_workers_with_as_many_labels_are_all_shown() -> None:
    """Expected numbers of right and wrong labels add up to a count only but for rounding."""
    Path("wide.csv").write_text(
        "id,gpt,claude,llama,human\n1,A,A,B,A\n2,B,B,B,\n3,A,tie,A,\n4,A,A,A,A\n5,B,A,B,\n"
        "6,B,B,A,B\n7,A,A,A,\n8,tie,B,B,\n"
    )
    found = strict(succeed("aggregate", "wide.csv", "--json").stdout)["found"]
    shown = [(each["worker"], each["labels"]) for each in found["best_workers"]]
    assert sorted(shown) == [("claude", 8), ("gpt", 8), ("llama", 8)]


def test_no_infinity_in_json() -> None:
    Path("v.csv").write_text("task,worker,label\n1,ann,yes\n1,bob,no\n2,ann,no\n")
    options = ("-m", "dawid-skene", "--set", "prior=yes=1,no=0", "--max-iter", "1")
    options = (*options, "--gold", "gold.csv")
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
    assert "The labels themselves" not in result.stderr
    back = quorate.load("all.quorate")
    for name in tables:
        table = getattr(back, {"labels": "labels", "workers": "workers"}.get(name, f"{name}_table"))
        assert READ[suffix](f"{name}{suffix}").equals(table)
    assert back.labels.equals(quorate.aggregate("votes.csv").labels)
    written = {path.name for path in Path().iterdir()}
    assert written == {f"{name}{suffix}" for name in tables} | {"votes.csv", "all.quorate"}


@pytest.mark.parametrize("scale", [("--engine", "disk"), ("--memory", "1GB", "--store", "store")])
def test_every_output_from_disk(scale: tuple[str, ...]) -> None:
    assert_every_output(*scale)


@pytest.mark.filterwarnings("ignore::Warning")
def test_every_output_of_a_cluster(cluster: quorate.Ray) -> None:
    assert_every_output("--engine", "ray")


def assert_every_output(*scale: str) -> None:
    outputs = ("-o", "-", "--workers", "w.csv", "--posterior", "p.csv", "--confusion", "c.csv")
    args = ("aggregate", "votes.csv", "-m", "dawid-skene", *outputs, "--save", "r.quorate")
    expected = quorate.aggregate("votes.csv", "dawid-skene")
    done = succeed(*args, *scale)
    assert sorted(done.stdout.splitlines()) == sorted(expected.labels.write_csv().splitlines())
    assert "Wrote w.csv (12 rows), p.csv (30 rows), c.csv (48 rows) and r.quorate." in done.stderr
    assert all(Path(name).is_file() for name in ("w.csv", "p.csv", "c.csv"))
    assert len(quorate.load("r.quorate").labels) == 30


def test_what_was_written_where_is_said() -> None:
    result = succeed("aggregate", "votes.csv", "-o", "labels.csv")
    assert result.stderr == "Wrote labels.csv (30 rows).\n"
    result = succeed("aggregate", "votes.csv", "-o", "labels.csv", "--save", "r.quorate", "--json")
    assert result.stderr == "Wrote labels.csv (30 rows) and r.quorate.\n"
    result = succeed("aggregate", "votes.csv", "--multilabel", "-o", "labels.jsonl")
    rows = len(pl.read_ndjson("labels.jsonl"))
    assert lines(result.stderr)[-1] == f"Wrote labels.jsonl ({rows} rows)."


def test_quiet_leaves_errors_and_standard_output() -> None:
    result = succeed("aggregate", "votes.csv", "-q", "-o", "labels.csv")
    assert (result.stdout, result.stderr) == ("", "")
    result = succeed("aggregate", "votes.csv", "-q", "-o", "-")
    assert result.stdout == quorate.aggregate("votes.csv").labels.write_csv()
    assert result.stderr == ""
    result = succeed("aggregate", "votes.csv", "--quiet")
    assert lines(result.stdout)[0] == "Read" and result.stderr == ""
    result = succeed("aggregate", "votes.csv", "-q", "--json", "-o", "labels.csv")
    assert strict(result.stdout)["read"]["tasks"] == 30 and result.stderr == ""
    result = run("aggregate", "none.csv", "-q")
    assert (result.exit_code, result.stderr) == (1, "quorate: There is no file none.csv.\n")


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ("-o - --workers -", "Only one table can go to standard output."),
        ("-o a.csv --workers a.csv", "Two outputs go to a.csv: give each its own name."),
        ("-o a.xls", "The name a.xls does not say its format: use"),
        ("-o none/a.csv", "There is no directory none to write a.csv in."),
        ("--save none/a.quorate", "There is no directory none to write a.quorate in."),
    ],
)
def test_outputs_are_checked_before_anything_is_read(args: str, sentence: str) -> None:
    Path("bad.csv").write_text("no votes")
    result = run("aggregate", "bad.csv", *args.split())
    assert result.exit_code == 2
    assert result.stderr.startswith(f"quorate: {sentence}")


# What is meant


def test_votes_alone_are_aggregated() -> None:
    expected = succeed("aggregate", "votes.csv", "-m", "majority", "-o", "-").stdout
    assert succeed("votes.csv", "-m", "majority", "-o", "-").stdout == expected
    assert succeed("-m", "majority", "votes.csv", "-o", "-").stdout == expected
    assert succeed("-o", "-", "--method=majority", "votes.csv").stdout == expected
    content = Path("votes.csv").read_bytes()
    assert succeed("-", "-m", "majority", "-o", "-", stdin=content).stdout == expected
    Path("votes.csv").rename("plain")
    assert succeed("plain", "--format", "csv", "-m", "majority", "-o", "-").stdout == expected


def test_several_files_are_one_input() -> None:
    table = pl.read_csv("votes.csv")
    table.head(100).write_csv("a.csv")
    table.tail(-100).write_csv("b.csv")
    expected = succeed("votes.csv", "-m", "majority", "-o", "-").stdout
    assert succeed("a.csv", "b.csv", "-m", "majority", "-o", "-").stdout == expected
    assert succeed("aggregate", "-m", "majority", "a.csv", "-o", "-", "b.csv").stdout == expected
    result = run("a.csv", "none.csv")
    assert (result.exit_code, result.stderr) == (1, "quorate: There is no file none.csv.\n")


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ("agregate votes.csv", "There is no command 'agregate': did you mean `quorate aggregate`?"),
        ("xyz", "There is no command and no file 'xyz': see `quorate --help`."),
        ("votes.csv --smoothng 1", "There is no option --smoothng: did you mean --smoothing?"),
        (
            "diagnose votes.csv --xyzzy",
            "There is no option --xyzzy: see `quorate diagnose --help`.",
        ),
        (
            "votes.csv --switch-at 1",
            "switch_at is an option of hybrid: give it as --set switch_at=VALUE.",
        ),
        ("compare votes.csv --beta 1", "There is no option --beta: see `quorate compare --help`."),
        ("aggregate", "Missing argument 'VOTES...': see `quorate aggregate --help`."),
        ("votes.csv --threads 0", "Invalid value for '--threads': 0 is not in the range x>=1."),
        ("votes.csv --smoothing much", "Invalid value for '--smoothing': 'much' is not a valid"),
        ("votes.csv --repeats never", "Invalid value for '--repeats': 'never' is not one of"),
        ("votes.csv --format xls", "Invalid value for '--format': 'xls' is not one of 'csv', "),
        ("demo --n-tasks 0", "Invalid value for '--n-tasks': 0 is not in the range x>=1."),
    ],
)
def test_a_wrong_call_is_one_sentence_and_exits_with_two(args: str, sentence: str) -> None:
    result = run(*args.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"quorate: {sentence}")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "name"), [("--gold", "no.csv"), ("--features", "no"), ("--worker-kinds", "no")]
)
def test_a_file_that_is_not_there_is_said_to_be_not_there(option: str, name: str) -> None:
    result = run("aggregate", "votes.csv", option, name)
    assert (result.exit_code, result.stderr) == (1, f"quorate: There is no file {name}.\n")


def test_known_answers_in_a_column_of_the_votes_and_workers_on_them() -> None:
    votes = pl.read_csv("votes.csv")
    votes.with_columns(truth=pl.col("label")).unique("task").write_csv("beside.csv")
    result = succeed("aggregate", "beside.csv", "--gold", "truth")
    assert "right on gold" in result.stdout and "1.000 of " in result.stdout
    refused = run("aggregate", "votes.csv", "--gold", "truth")
    sentence = "There is no file truth, and no such column among those of the votes: task, worker,"
    assert refused.exit_code == 1 and refused.stderr.startswith(f"quorate: {sentence}")


@pytest.mark.parametrize("command", ["aggregate", "explain", "compare", "assign"])
@pytest.mark.parametrize(
    ("name", "meant"),
    [("dawidskene", "dawid-skene"), ("dawid_skene", "dawid-skene"), ("majorty", "majority")],
)
def test_a_misspelt_method(command: str, name: str, meant: str) -> None:
    extra = {"explain": ["--task", "t01"], "assign": ["--budget", "1"]}.get(command, [])
    result = run(command, "votes.csv", "-m", name, *extra)
    assert result.exit_code == 2
    assert f"There is no method {name!r}" in result.stderr
    assert f"did you mean {meant}?" in result.stderr


# A method's own options


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ("-m kos --set varian=messages", "kos has no option 'varian': did you mean variant?"),
        ("-m kos --set beta=4,2", "kos has no option 'beta': one-coin has it."),
        ("-m kos --set variant=svd", "variant is one of messages, centred-svd, not 'svd'."),
        (
            "-m kos --set variant",
            "--set takes name=value, such as --set ties=first; not 'variant'.",
        ),
        ("-m kos --set noise=1 --set noise=2", "noise is set twice: give it once."),
        ("-m kos --set noise=much", "noise is a number of at least 0, not 'much'."),
        ("-m kos --set noise=-1", "noise must be a number of at least 0, not -1.0."),
        ("-m kos --set seed=1.5", "seed is a whole number of at least 0, not '1.5'."),
        ("-m one-coin --set beta=4", "beta is two numbers above 0 such as 4,2, or none, not '4'."),
        ("-m one-coin --set beta=a,b", "beta is two numbers above 0 such as 4,2, or none, not"),
        ("-m one-coin --set beta=", "beta is two numbers above 0 such as 4,2, or none, not ''."),
        (
            "-m naive-bayes --set feature_weight=x",
            "feature_weight is a number of at least 0 or auto",
        ),
    ],
)
def test_a_setting_that_cannot_be(args: str, sentence: str) -> None:
    result = run("aggregate", "votes.csv", *args.split())
    assert result.exit_code == 2
    assert result.stderr.startswith(f"quorate: {sentence}")


@pytest.mark.parametrize("name", METHODS)
def test_every_option_of_every_method_can_be_set(name: str) -> None:
    """What is listed as a default can be given, and changes nothing."""
    from quorate.cli.values import settings_of

    listed = strict(succeed("methods", name, "--json").stdout)["options"]
    given = [f"{option['name']}={option['default']}" for option in listed]
    settings = settings_of(name, given)
    assert list(settings) == list(METHODS[name].options)
    plain = make(name)
    for option, value in settings.items():
        expected = getattr(plain, option)
        assert value == expected or (value == "none" and expected is None), option


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
        ("-m majority --set ties=random --seed 3", {"ties": "random", "seed": 3}),
        ("-m dawid-skene --smoothing 0.5 --max-iter 3", {"smoothing": 0.5, "max_iter": 3}),
        ("-m dawid-skene --set prior=yes=0.7,no=0.3", {"prior": {"yes": 0.7, "no": 0.3}}),
        (
            "-m dawid-skene --set prior=uniform --set zeros=skip",
            {"prior": "uniform", "zeros": "skip"},
        ),
        ("-m dawid-skene --set prior-smoothing=2", {"prior_smoothing": 2}),
        ("-m dawid-skene --set stop=marginals --tol 0.01", {"stop": "marginals", "tol": 0.01}),
        ("-m hybrid --set switch_at=0.1", {"switch_at": 0.1}),
        (
            "-m one-coin --set beta=4,2 --set low=0.2 --set high=0.9",
            {"beta": (4, 2), "low": 0.2, "high": 0.9},
        ),
        ("-m one-coin --set beta=none", {"beta": None}),
        ("-m dawid-skene --set init=vote --threads 1", {}),
    ],
)
def test_options_reach_the_method(args: str, options: dict[str, Any]) -> None:
    expected = quorate.aggregate("votes.csv", make(args.split()[1], **options))
    result = succeed("aggregate", "votes.csv", *args.split(), "-o", "-", "--json")
    assert result.stdout == expected.labels.write_csv()
    assert strict(result.stderr)["how"]["objective"] == expected.objective[-1]


@pytest.mark.parametrize(
    ("args", "options"),
    [
        ("--repeats last", {"repeats": "last"}),
        ("--missing yes", {"missing": ["yes"]}),
        ("--class-order yes,no", {"ordered": ["yes", "no"]}),
        ("--ordered --no-discount", {"ordered": True, "discount": False}),
        ("--min-confidence 0.9", {"min_confidence": 0.9}),
    ],
)
def test_options_reach_aggregate(args: str, options: dict[str, Any]) -> None:
    expected = quorate.aggregate("votes.csv", **options)
    result = succeed("aggregate", "votes.csv", *args.split(), "-o", "-")
    assert result.stdout == expected.labels.write_csv()


def test_what_was_learned_can_be_used_again() -> None:
    method = ("-m", "dawid-skene")
    save = ("--save", "first.quorate", "--confusion", "confusion.csv")
    succeed("aggregate", "votes.csv", *method, *save)
    first = quorate.load("first.quorate")
    for setting, expected in (
        ("worker_prior=first.quorate", {"worker_prior": first}),
        ("init=first.quorate", {"init": first}),
    ):
        result = succeed("aggregate", "votes.csv", *method, "--set", setting, "-o", "-")
        model = quorate.DawidSkene(**expected)
        assert result.stdout == quorate.aggregate("votes.csv", model).labels.write_csv()
    succeed("aggregate", "votes.csv", *method, "--set", "init=confusion.csv")


# The other commands


def test_methods_lists_every_method() -> None:
    printed = succeed("methods").stdout
    listed = strict(succeed("methods", "--json").stdout)["methods"]
    assert [each["name"] for each in listed] == list(METHODS)
    for each in listed:
        assert any(line.startswith(f"{each['name']} ") for line in printed.splitlines())
        assert each["summary"] in printed and each["paper"] in printed


@pytest.mark.parametrize("name", METHODS)
def test_a_method_with_its_options(name: str) -> None:
    printed, method = " ".join(lines(succeed("methods", name).stdout)), METHODS[name]
    about = strict(succeed("methods", name, "--json").stdout)
    assert method.summary in printed and (method.paper == "-" or method.paper in printed)
    assert ("two only" in printed) == about["two_classes_only"] == method.two_classes_only
    assert ("discount of correlated" in printed) == about["takes"]["discount"]
    assert ("features of tasks" in printed) == about["takes"]["features"]
    assert [option["name"] for option in about["options"]] == list(method.options)
    for option in about["options"]:
        declared = method.options[option["name"]]
        assert f"{option['name']} = {option['default']}" in printed
        assert option["doc"].rstrip(".") in printed and option["doc"]
        assert option["choices"] == list(declared.choices)
        assert all(choice in printed for choice in option["choices"])
        if isinstance(declared.at_least, (int, float)):
            assert f"of at least {declared.at_least:g}" in option["values"]


def test_demo() -> None:
    result = succeed("demo", "--n-tasks", "60", "--seed", "1", "-o", "v.parquet")
    assert result.stderr == "Wrote v.parquet (300 rows).\n"
    for name in ("majority", "dawid-skene", "expert-1", "guesser-8", "inverted"):
        assert name in result.stdout
    assert succeed("demo", "--n-tasks", "60", "--seed", "1").stdout == result.stdout
    found = strict(succeed("demo", "--n-tasks", "60", "--seed", "1", "--json").stdout)
    assert found["tasks"] == 60 and len(found["workers"]) == 14
    summary = strict(succeed("aggregate", "v.parquet", "--json").stdout)
    assert summary["read"]["tasks"] == 60 and summary["read"]["labels"] == 300


def test_explain() -> None:
    result = succeed("explain", "votes.csv", "--task", "t01", "--task", "t02", "-m", "one-coin")
    printed = lines(result.stdout)
    assert [line for line in printed if line.startswith("Task ")] == ["Task t01", "Task t02"]
    found = strict(succeed("explain", "votes.csv", "--task", "t01", "--json").stdout)
    assert found["method"] == "auto" and found["tasks"][0]["task"] == "t01"


def test_diagnose_leads_with_findings_and_keeps_theory_for_those_who_ask() -> None:
    plain = succeed("diagnose", "votes.csv", "--workers", "w.csv")
    printed = lines(plain.stdout)
    assert printed[0] == f"30 tasks, 12 workers, {len(VOTES)} labels, 2 classes."
    assert printed[1] == "Findings"
    assert printed.index("Findings") < printed.index("Agreement") < printed.index("Worker graph")
    theory = ("w_min", "pi_min", "kappa of", "sigma_L", "D-bar", "error of skills", "eigenvalue")
    assert not any(word in plain.stdout for word in theory)
    assert all(
        word in succeed("diagnose", "votes.csv", "--theory").stdout
        for word in ("w_min", "pi_min", "kappa of", "sigma_L", "D-bar", "eigenvalue")
    )
    assert plain.stderr == "Wrote w.csv (12 rows).\n"
    summary = strict(succeed("diagnose", "votes.csv", "--json").stdout)
    assert "w_min" in summary["knowledge"]


def test_compare() -> None:
    pl.DataFrame(VOTES, schema=["task", "worker", "label"], orient="row").group_by("task").agg(
        pl.col("label").mode().first()
    ).write_csv("gold.csv")
    args = ("compare", "votes.csv", "-m", "majority", "-m", "kos", "--gold", "gold.csv")
    result = succeed(*args, "--held-out", "0.2", "-o", "scores.csv")
    assert "30 held-out votes" in result.stdout  # one of each task
    assert result.stderr == "Wrote scores.csv (2 rows).\n"
    assert pl.read_csv("scores.csv")["method"].to_list() == ["majority", "kos"]
    summary = strict(succeed(*args, "--json").stdout)
    assert summary["held_out_votes"] == round(0.1 * len(VOTES)) < 30


def test_assign() -> None:
    Path("who.csv").write_text("worker,cost\nann,2\nzoe,1\n")
    Path("more.csv").write_text("task\nnew\n")
    files = ("--available", "who.csv", "--tasks", "more.csv")
    policy = ("--policy", "entropy", "--ask", "best")
    args = ("assign", "votes.csv", "--budget", "4", *policy, *files)
    result = succeed(*args, "-o", "next.csv")
    table = pl.read_csv("next.csv")
    assert set(table["worker"]) <= {"ann", "zoe"} and table["task"][0] == "new"
    assert result.stderr == f"Wrote next.csv ({len(table)} rows).\n"
    assert strict(succeed(*args, "--target-error", "0.4", "--json").stdout)["votes"] <= len(table)
    assert run("assign", "votes.csv").exit_code == 2


def test_simulate() -> None:
    sizes = ("--n-tasks", "20", "--n-workers", "7", "--n-classes", "3", "--votes-per-task", "4")
    outputs = ("--truth", "t.csv", "--workers", "w.csv", "--features-out", "f.csv")
    result = succeed("simulate", *sizes, "--n-features", "5", "-o", "v.csv", *outputs)
    votes = pl.read_csv("v.csv")
    assert len(votes) == 80 and votes["worker"].n_unique() == 7
    assert pl.read_csv("t.csv").columns == ["task", "label"] and len(pl.read_csv("t.csv")) == 20
    assert len(pl.read_csv("w.csv")) == 7
    assert pl.read_csv("f.csv").columns == ["task", "feature"]
    said = "Wrote v.csv (80 rows), t.csv (20 rows), w.csv (7 rows) and f.csv ("
    assert result.stderr.startswith(said)
    assert run("simulate", "--features-out", "f.csv").exit_code == 2
    result = run("simulate", "--beta", "3")
    assert (result.exit_code, result.stderr) == (
        2,
        "quorate: --beta is two numbers such as 4,2; not '3'.\n",
    )
    beta = ("--beta", "9,1", "--prior", "0.7,0.3", "-o", "-")
    expected = quorate.simulate(n_tasks=9, beta=(9, 1), prior=[0.7, 0.3]).votes.write_csv()
    assert succeed("simulate", "--n-tasks", "9", *beta).stdout == expected


def test_the_help_of_simulate_names_what_is_drawn_by_default() -> None:
    printed = " ".join(lines(succeed("simulate", "--help").stdout))
    crowd = strict(succeed("simulate", "--json").stdout)
    for option, number in (("n-tasks", crowd["tasks"]), ("n-workers", crowd["workers"])):
        assert re.search(rf"--{option} INTEGER RANGE [^\[]*\[default: {number};", printed)
    assert f"Number of classes; {crowd['classes']} unless given" in printed
    per_task = crowd["votes"] // crowd["tasks"]
    assert f"who label each task; {per_task}, or all if they are fewer" in printed


@pytest.mark.parametrize("command", sorted(main.commands))
def test_every_command_can_be_quiet_and_names_its_options_in_words(command: str) -> None:
    found = main.commands[command]
    if command == "serve":  # a database to serve is its command `run`
        found = found.commands["run"]
    parameters = found.params
    options = {name: each for each in parameters for name in each.opts}
    assert "--quiet" in options and "-q" in options
    for each in parameters:
        assert getattr(each, "help", "") or each.param_type_name == "argument", each.name


def test_one_word_has_one_meaning() -> None:
    texts: dict[str, set[str]] = {}
    for command in main.commands.values():
        for each in command.params:
            if each.param_type_name == "option":
                texts.setdefault(each.opts[-1], set()).add(str(each.help))
    assert texts["--workers"] == {"Where a table of the workers goes."}
    several = {"--output", "--method", "--gold-column", "--seed", "--confidence", "--truth"}
    for name in texts.keys() - several:
        assert len(texts[name]) == 1, (name, texts[name])


def test_defaults_in_help_come_from_where_they_are_defined() -> None:
    printed = " ".join(lines(succeed("aggregate", "--help").stdout))
    assert "[default: auto]" in printed and "[default: empty, NaN, nan]" in printed
    assert "--repeats [count|first|last]" in printed
    assert "[default: 0.1]" in succeed("compare", "--help").stdout
    assert "[default: 0.95]" in succeed("explain", "--help").stdout


# Tables


SCORE = {
    "error": 0.123,
    "error_low": 0.101,
    "error_high": 0.152,
    "p_value": 0.0312,
    "calibration": 0.043,
    "predictive": -0.4321,
    "gain": 0.1234,
    "gain_low": 0.1,
    "gain_high": 0.15,
    "iterations": 200,
    "converged": False,
    "seconds": 12.34,
    "reason": None,
}


def comparison(n_methods: int) -> dict[str, Any]:
    names = [f"method-number-{i}" for i in range(n_methods)]
    agreement = [[(1000 - 7 * i - j) / 1000 for j in range(n_methods)] for i in range(n_methods)]
    return {
        "tasks": 1000,
        "gold_tasks": 900,
        "held_out_votes": 500,
        "scores": [SCORE | {"method": name} for name in names],
        "compared": names,
        "agreement": agreement,
        "reliability": {},
        "notes": [],
    }


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_no_number_of_a_comparison_is_ever_cut(width: int) -> None:
    from quorate.report.comparison import show_comparison

    found = comparison(17)
    stream = io.StringIO()
    show_comparison(found, Console(file=stream, width=width))
    printed = stream.getvalue()
    assert "…" not in printed and max(map(len, printed.splitlines())) <= width
    numbers = printed.split()
    for cell in ("12.3%", "10.1-15.2", "0.031", "0.043", "-0.4321", "+0.123", "200+", "12.34"):
        assert numbers.count(cell) == 17, cell
    for row in found["agreement"]:
        for share in row:
            assert f"{100 * share:.1f}".removesuffix(".0") in numbers


def test_into_a_pipe_nothing_is_cut_and_no_line_is_folded() -> None:
    names = [f"{'very-' * 10}{worker}" for worker in WORKERS]
    rows = [(task, names[WORKERS.index(worker)], label) for task, worker, label in VOTES]
    pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row").write_csv("v.csv")
    printed = shell("v.csv", "-m", "majority").stdout.decode()
    assert sum(name in printed for name in names) == 10
    assert "…" not in printed


@pytest.mark.parametrize("width", [30, 50, 80])
def test_no_number_of_a_summary_is_cut(width: int) -> None:
    result = CliRunner(env={"COLUMNS": str(width)}).invoke(main, ["votes.csv", "-m", "majority"])
    found = quorate.aggregate("votes.csv", "majority").workers
    assert result.exit_code == 0 and "…" not in result.stdout
    shown = result.stdout.split()
    assert sum(f"{share:.3f}" in shown for share in found["agreement"]) >= 10


def test_version_and_help() -> None:
    assert succeed("--version").stdout == f"quorate, version {quorate.__version__}\n"
    for command in main.commands:
        assert command in succeed("--help").stdout
        assert succeed(command, "-h").stdout.startswith(f"Usage: quorate {command}")
    assert "..." not in succeed("--help").stdout.split("Commands:")[1].split("\n\n")[0]
    assert "_QUORATE_COMPLETE" in succeed("--help").stdout
    nothing = run()
    assert (nothing.exit_code, nothing.stdout) == (2, "") and "Usage: quorate" in nothing.stderr


# Completion


def complete(*words: str, shell: str = "bash") -> list[str]:
    """What may follow, as the shell is told."""
    environment = {
        "_QUORATE_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": " ".join(["quorate", *words]),
        "COMP_CWORD": str(len(words)),
    }
    result = CliRunner(env=environment).invoke(main, [], prog_name="quorate")
    return [line.partition(",")[2] or line for line in result.stdout.splitlines()]


def test_methods_are_completed() -> None:
    assert complete("aggregate", "votes.csv", "-m", "dawid") == ["dawid-skene"]
    assert complete("votes.csv", "-m", "ko") == ["kos"]
    assert complete("compare", "votes.csv", "-m", "kos", "-m", "gl") == ["glad"]
    assert complete("methods", "ko") == ["kos"]
    assert complete("ag") == ["aggregate"]


def test_settings_are_completed() -> None:
    assert complete("votes.csv", "-m", "kos", "--set", "v") == ["variant="]
    assert complete("-m", "kos", "--set", "variant", "=", "c") == ["centred-svd"]
    assert complete("-m", "kos", "--set", "variant", "=") == ["messages", "centred-svd"]
    assert complete("-m", "kos", "--set", "ties", "=", "first", "--set", "no") == ["noise="]
    assert "variant=centred-svd" in complete("-m", "kos", "--set", "variant=c", shell="zsh")
    assert complete("votes.csv", "--repeats", "f") == ["first"]
    assert complete("votes.csv", "--repeats", "=", "f") == ["first"]


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


@contextmanager
def started(*args: str) -> Iterator[subprocess.Popen[bytes]]:
    """The command under way, open to being interrupted."""

    def listen() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [*COMMAND, *args]
    with subprocess.Popen(command, env=ENVIRONMENT, preexec_fn=listen, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("args", [["-o", "-"], ["--json"], []])
def test_a_reader_that_stops_early_is_no_failure_to_speak_of(args: list[str]) -> None:
    rows = [(f"task-{i}", "ann", f"label-{i % 20}") for i in range(20_000)]
    pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row").write_csv("v.csv")
    with started("aggregate", "v.csv", "-m", "majority", "-q", *args) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


def worked_for(seconds: float, process: subprocess.Popen[bytes]) -> float:
    """The seconds of work it has done, once they are so many, however busy the machine is."""
    under_way = psutil.Process(process.pid)
    while (worked := sum(under_way.cpu_times()[:2])) < seconds:
        assert process.poll() is None, "it ended before it could be interrupted"
        time.sleep(0.05)
    return worked


@pytest.mark.parametrize("command", ["aggregate", "compare"])
def test_an_interrupt_is_one_line_and_leaves_nothing(command: str) -> None:
    random = [(f"t{i // 5}", f"w{i * 7919 % 997}", str(i * i * 31 % 7 % 3)) for i in range(400_000)]
    pl.DataFrame(random, schema=["task", "worker", "label"], orient="row").write_csv("v.csv")
    endless = ["-m", "glad", "--max-iter", "1000000", "--tol", "0"]
    args = [*(endless if command == "aggregate" else []), "-o", "out.csv"]
    with started(command, "v.csv", *args) as process:
        assert process.stdout is not None and process.stderr is not None
        before = worked_for(3, process)
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b"quorate: Interrupted.\n"
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 130
        assert usage.ru_utime + usage.ru_stime - before < 5
    assert sorted(path.name for path in Path().iterdir()) == ["v.csv", "votes.csv"]


def test_too_little_memory_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    @wraps(aggregate)
    def fill(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("quorate.aggregation.aggregate", fill)
    result = run("aggregate", "votes.csv")
    assert result.exit_code == 1
    assert result.stderr == "quorate: There is not enough memory for this.\n"


def test_a_fault_of_the_call_that_the_library_finds_exits_with_two(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise UsageError("This cannot be.")

    monkeypatch.setattr("quorate.diagnosis.diagnose", refuse)
    result = run("diagnose", "votes.csv")
    assert (result.exit_code, result.stderr) == (2, "quorate: This cannot be.\n")


def test_a_terminal_of_another_encoding() -> None:
    Path("v.csv").write_text("task,worker,label\nü,ann,größer\n", encoding="utf-8")
    done = shell("aggregate", "v.csv", "-o", "-", "--json", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    rows = list(csv.reader(io.StringIO(done.stdout.decode("utf-8"))))
    assert rows[1][:2] == ["ü", "größer"]


def test_a_summary_on_a_terminal_of_another_encoding() -> None:
    Path("v.csv").write_text("task,worker,label\nü,ann,größer\n", encoding="utf-8")
    done = shell("aggregate", "v.csv", PYTHONIOENCODING="ascii")
    assert done.returncode == 0


def test_as_a_module() -> None:
    done = shell("--version")
    assert done.stdout.split() == [b"quorate,", b"version", quorate.__version__.encode()]


def test_a_program_ends_with_its_exit_code_after_all_that_was_to_be_done(tmp_path: Path) -> None:
    code = (
        "import atexit, sys\nfrom quorate import cli\ncommands = cli.main\n"
        "def main(**named):\n    atexit.register(print, 'tidied up')\n    commands(**named)\n"
        "cli.main = main\nsys.argv = ['quorate', 'nowhere.csv']\ncli.run()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=ENVIRONMENT, cwd=tmp_path
    )
    assert done.returncode == 1
    assert done.stdout == b"tidied up\n"
    assert done.stderr == b"quorate: There is no file nowhere.csv.\n"


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["agregate", "x"]])
def test_what_needs_nothing_heavy_imports_nothing_heavy(args: list[str]) -> None:
    heavy = "numpy", "polars", "scipy", "rich", "pandas", "pyarrow"
    code = (
        "import sys\nfrom quorate.cli import main\n"
        f"try:\n    main({args!r}, prog_name='quorate')\nexcept SystemExit:\n"
        f"    print([m for m in {heavy} if m in sys.modules])"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, check=True, env=ENVIRONMENT)
    assert done.stdout.splitlines()[-1] == b"[]"


def test_help_is_there_at_once() -> None:
    environment = {k: v for k, v in ENVIRONMENT.items() if k != "PYTHONDONTWRITEBYTECODE"}
    code = (
        "import time; t = time.process_time(); import quorate.cli; print(time.process_time() - t)"
    )
    command = [sys.executable, "-c", code]
    runs = [
        subprocess.run(command, capture_output=True, check=True, env=environment).stdout
        for _ in range(4)
    ]
    assert min(map(float, runs)) < 0.1
