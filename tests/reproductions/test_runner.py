"""The runner: what it writes, what it does without data, and what an interrupted run keeps."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.reproductions.conftest import QuickRun

from quorate.errors import QuorateError
from reproductions import EXPERIMENTS, drawing, experiment_named, journal, results, terminal
from reproductions.command import main
from reproductions.experiment import (
    Cell,
    Experiment,
    Figure,
    Panel,
    Plan,
    Report,
    Series,
    Table,
    compared,
)
from reproductions.journal import Journal, fingerprint
from reproductions.page import page
from reproductions.running import InterruptedRunError, Outcome, made, run

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def reproduce(*arguments: object) -> Any:
    return CliRunner().invoke(main, list(map(str, arguments)))


# A whole run.


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_quick_run_writes_everything(quick: QuickRun, name: str) -> None:
    out = quick.out
    assert "Left out" not in quick.printed
    result = json.loads((out / name / "results.json").read_text())
    assert result["tables"] and result["made"]["quick"] and result["made"]["seed"] == 0
    assert result["made"]["versions"].keys() >= {"quorate", "numpy"}
    for table in result["tables"]:
        lines = (out / name / f"{table['name']}.csv").read_text().splitlines()
        assert len(lines) == len(table["rows"]) + 1
        assert len({tuple(row) for row in table["rows"]}) == 1, "rows of one table have one header"
    for figure in result["figures"]:
        assert (out / name / f"{figure['name']}.svg").read_text().startswith("<?xml")
        assert (out / name / f"{figure['name']}.png").read_bytes().startswith(b"\x89PNG")
        for panel in figure["panels"]:
            assert panel["x"] and panel["y"] and panel["series"]
    assert not (out / journal.NAME).exists()
    assert f"## {result['title']}" in (out / "page.md").read_text()


# The figures that are exact on this data, of every table that has them.
EXACT = {
    "spectral": {
        "table-2": [
            *(("bird", m) for m in ("MV-D&S", "majority", "KOS", "Ghosh-SVD", "EigenRatio")),
            *(("rte", m) for m in ("Opt-D&S", "majority", "KOS", "Ghosh-SVD", "EigenRatio")),
            *(("trec", m) for m in ("MV-D&S, strict", "majority", "KOS")),
            ("dog", "KOS"),
            *(("web", m) for m in ("majority", "KOS")),
        ]
    },
    "fast-ds": {
        "table-2": [
            *(("bm", m) for m in ("FDS", "DS", "Hybrid")),
            *((name, m) for name in ("labelme", "rte") for m in ("DS", "Hybrid")),
        ]
    },
    "rank-one": {"table-1-set-ups": [("dog", "PGD", "one-skill")]},
}


@pytest.mark.parametrize(("name", "table"), [(n, t) for n, ts in EXACT.items() for t in ts])
def test_figures_that_are_exact_come_out_to_the_printed_digit(
    quick: QuickRun, name: str, table: str
) -> None:
    result = json.loads((quick.out / name / "results.json").read_text())
    rows = next(t["rows"] for t in result["tables"] if t["name"] == table)
    for key in EXACT[name][table]:
        (row,) = (row for row in rows if tuple(row.values())[: len(key)] == key)
        assert row["difference"] == 0, row


def test_the_page_is_that_of_the_committed_results() -> None:
    committed = results.read(DOCS / "results")
    assert [result["experiment"] for result in committed] == list(EXPERIMENTS)
    assert (DOCS / "reproduction.md").read_text() == page(committed, "results")
    for result in committed:
        assert not result["made"]["quick"] and not result["absent"]
        for figure in result["figures"]:
            assert (DOCS / "results" / result["experiment"] / f"{figure['name']}.svg").exists()


def test_figures_and_page_are_made_again_of_what_is_kept(tmp_path: Path) -> None:
    kept = tmp_path / "spectral" / "results.json"
    kept.parent.mkdir()
    shutil.copy(DOCS / "results" / "spectral" / "results.json", kept)
    before = kept.read_bytes()
    run = reproduce("--render", "--out", tmp_path, "--page", tmp_path / "page.md")
    assert run.exit_code == 0, run.output
    assert kept.read_bytes() == before
    drawn_again = {path.name for path in kept.parent.glob("*.svg")}
    assert drawn_again == {"figure-1.svg", "theorems.svg"}
    assert "35 of 46" in (tmp_path / "page.md").read_text()
    refused = reproduce("spectral", "--render", "--out", tmp_path)
    assert refused.exit_code == 2 and "--render runs nothing" in refused.output


# Data that is not there, or not whole.


def test_what_is_missing_is_said_at_once_and_no_table_is_left_blank(tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ("--out", out, "--page", out / "page.md", "--data", tmp_path / "none")
    found = reproduce("field", "--quick", *arguments)
    assert found.exit_code == 0, found.output
    assert "Left out: bird is not in" in (out / "page.md").read_text()
    said = " ".join(found.stderr.split())
    assert said.startswith("Left out: adult2, bird, bm, d_possent, dog,")
    where = f"are not in {tmp_path / 'none'}: `quorate data get adult2 bird"
    assert "".join(where.split()) in "".join(found.stderr.split())  # lines may end within a path
    assert "\n\n\n" not in found.stdout
    result = json.loads((out / "field" / "results.json").read_text())
    assert len(result["absent"]) == 14 and result["tables"] == []
    assert "rte is not in" in " ".join(result["absent"])


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_without_data_nothing_is_made_up(
    quick: QuickRun, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment = experiment_named(name)
    report = quick.report(experiment)
    result = results.as_dict(Outcome(experiment, report, 1.0), made(quick.plan(), {}), ["One."])
    assert not any("data" in row for table in result["tables"] for row in table["rows"])
    assert not any(f"On {name}" in str(result["claims"]) for name in experiment.data_sets)
    terminal.show_experiment(result)
    shown = capsys.readouterr().out
    assert "\n\n\n" not in shown and "Left out: 1 data set\n" in shown
    assert all(table["title"].split(":")[0] in shown for table in result["tables"] if table["rows"])
    text = page([result], "results")
    assert all((t["title"] in text) == bool(t["rows"]) for t in result["tables"])


def test_a_data_set_that_is_gone_and_one_that_is_damaged(data: Path, tmp_path: Path) -> None:
    for name in ("rte", "web"):
        copied(data, name, tmp_path / "data")
    labels = tmp_path / "data" / "web" / "labels.csv"
    labels.write_text(labels.read_text().replace(",5\n", ",4\n", 1))
    found = reproduce("spectral", "--quick", "--out", tmp_path / "out", "--data", tmp_path / "data")
    assert found.exit_code == 0, found.output
    said = " ".join(found.stderr.split())
    assert "Left out: bird, dog, dog_min40, trec are not in" in said
    assert "web in" in said and "is damaged (the votes are as many as they should be" in said
    assert "Left out: 5 data sets" in found.stdout
    result = json.loads((tmp_path / "out" / "spectral" / "results.json").read_text())
    rows = next(t["rows"] for t in result["tables"] if t["name"] == "table-2")
    assert {row["data"] for row in rows} == {"rte"}
    assert len(result["absent"]) == 5


def copied(data: Path, name: str, place: Path) -> None:
    """A copy that can be changed."""
    shutil.copytree(data / name, place / name)
    for path in (place, *place.rglob("*")):
        path.chmod(0o755)


# Interrupted, and gone on with.


def square(plan: Plan, x: int, marks: str) -> int:
    """Leaves a mark, so that it can be seen how often it ran."""
    with (Path(marks) / f"{x}").open("a") as file:
        file.write("x")
    return x * x


def too_large(plan: Plan, x: int, marks: str) -> int:
    if not (Path(marks) / "room").exists():
        os.kill(os.getpid(), signal.SIGKILL)  # as the system does where memory is short
    return square(plan, x, marks)


def squares(marks: Path, last: Any = square) -> Experiment:
    def cells(plan: Plan) -> list[Cell]:
        arguments = {"marks": str(marks)}
        some = [Cell(f"{x}", square, {"x": x, **arguments}, cost=10 - x) for x in range(5)]
        return [*some, Cell("last", last, {"x": 9, **arguments}, cost=0.1)]

    def report(plan: Plan, found: Mapping[str, Any]) -> Report:
        rows = [{"of": key, "is": value} for key, value in found.items()]
        return Report([Table("squares", "Squares", rows)])

    return Experiment("squares", "Squares", "-", "-", (), cells, report)


PLAN = Plan(Path("nowhere"), frozenset())


def test_a_process_that_is_killed_leaves_what_was_found(tmp_path: Path) -> None:
    experiment = squares(tmp_path, too_large)
    with pytest.raises(InterruptedRunError, match=r"of 6 pieces.*the same command goes on"):
        list(run([experiment], PLAN, Journal(tmp_path), data={}, processes=1))
    assert (tmp_path / journal.NAME).exists()
    (tmp_path / "room").touch()
    (outcome,) = run([experiment], PLAN, Journal(tmp_path), data={}, processes=1)
    assert [row["is"] for row in outcome.report.tables[0].rows] == [0, 1, 4, 9, 16, 81]
    assert {(tmp_path / f"{x}").read_text() for x in range(5)} == {"x"}, "no piece ran twice"


@contextmanager
def started(command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """A run under way, killed in the end with all the processes it has started."""
    pipes: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True, **pipes) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def wait_for_lines(n: int, kept: Path, process: subprocess.Popen[str]) -> None:
    """Until so many pieces of work are kept, however slow the machine is."""
    while not kept.exists() or kept.read_bytes().count(b"\n") < n:
        assert process.poll() is None, "it ended before it could be stopped"
        time.sleep(0.02)


def test_a_whole_run_is_killed_and_goes_on(data: Path, tmp_path: Path) -> None:
    """Really killed, with SIGKILL, as soon as something has been found."""
    copied(data, "bird", tmp_path / "data")
    command = [sys.executable, "-m", "reproductions", "spectral", "--quick", "--processes", "1"]
    command += ["--data", str(tmp_path / "data"), "--out", str(tmp_path)]
    kept = tmp_path / journal.NAME
    with started(command) as process:
        wait_for_lines(5, kept, process)
    found = dict(Journal(tmp_path)._lines())
    assert len(found) >= 5 and not (tmp_path / "spectral").exists()
    with kept.open("ab") as file:
        file.write(b'\n{"cell": "torn')
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert "Table 2" in done.stdout and not kept.exists()


def test_an_interrupt_is_one_sentence(data: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "reproductions", "spectral", "--processes", "1"]
    command += ["--data", str(data), "--out", str(tmp_path)]
    with started(command) as process:
        wait_for_lines(1, tmp_path / journal.NAME, process)
        process.send_signal(signal.SIGINT)
        said = process.communicate()[1]
    assert process.returncode == 130
    assert "Interrupted with" in said and "Traceback" not in said


def test_a_result_of_other_data_or_seed_is_not_taken() -> None:
    cell = Cell("a", square, {"x": 1})
    kept = {
        fingerprint("e", cell, PLAN, {"rte": "1"}),
        fingerprint("e", cell, PLAN, {"rte": "2"}),
        fingerprint("e", cell, Plan(PLAN.directory, PLAN.here, seed=1), {"rte": "1"}),
        fingerprint("e", Cell("a", square, {"x": 2}), PLAN, {"rte": "1"}),
        fingerprint("f", cell, PLAN, {"rte": "1"}),
    }
    assert len(kept) == 5


def test_fresh_forgets(tmp_path: Path) -> None:
    Journal(tmp_path).add("cell", {"result": 1, "seconds": 0.0})
    assert "cell" in Journal(tmp_path)
    assert "cell" not in Journal(tmp_path, fresh=True)


def test_the_seconds_and_the_machine_are_kept(tmp_path: Path) -> None:
    (outcome,) = run([squares(tmp_path)], PLAN, Journal(tmp_path), data={}, processes=2)
    result = results.as_dict(outcome, made(PLAN, {}), [])
    assert result["seconds"] >= 0 and result["made"]["cores"] >= 1 and result["made"]["processor"]


# Options.


def test_listing_and_wrong_names() -> None:
    listed = reproduce("--list").output
    assert all(name in listed for name in EXPERIMENTS)
    assert reproduce("spectrum").exit_code == 2
    assert "there are spectral" in reproduce("spectrum").output
    assert "Name an experiment" in reproduce().output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--out", "file"), "is a file: name a directory"),
        (("--out", "file/deeper"), "is a file: name a directory"),
        (("--page", "none/page.md"), "There is no directory none"),
    ],
)
def test_places_are_looked_at_before_the_work(
    arguments: tuple[str, str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    found = reproduce("spectral", "--quick", *arguments)
    assert found.exit_code == 2 and sentence in found.output


def test_a_page_without_results_says_so(tmp_path: Path) -> None:
    found = reproduce("--page", tmp_path / "page.md", "--out", tmp_path)
    assert found.exit_code == 1 and "There are no results in" in found.output
    (tmp_path / "spectral").mkdir()
    (tmp_path / "spectral" / "results.json").write_text("{")
    assert "is not JSON" in reproduce("--page", tmp_path / "page.md", "--out", tmp_path).output


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(QuorateError, match="pip install"), drawing.drawn({}):
        pass


# Parts.


def test_a_difference_is_of_what_is_printed() -> None:
    rows = [
        {"paper": 7.12, "ours": 7.125},
        {"paper": 49.13, "ours": 49.125},
        {"paper": 10.09, "ours": 10.185},
        {"paper": None, "ours": 1.0},
    ]
    assert [row["difference"] for row in compared(rows, 2)] == [0, 0, 0.1, None]


def drawn(figure: Figure, tmp_path: Path) -> str:
    from dataclasses import asdict

    path = tmp_path / "figure.svg"
    with path.open("wb") as file, drawing.drawn(asdict(figure)) as save:
        save("svg", file)
    return path.read_text()


def test_names_of_lines_that_end_together_do_not_overlap() -> None:
    places = drawing._spread([0.1, 0.5, 0.5, 0.52, 0.9], 0.1)
    gaps = [after - before for before, after in pairwise(places)]
    assert min(gaps) > 0.1 - 1e-12
    assert places[0] == 0.1 and places[-1] == 0.9


def test_the_same_figure_is_the_same_file(tmp_path: Path) -> None:
    lines = [Series("a", [1, 10, 100], [1, None, 3], [0.5, 1, 2], [2, 3, 4]), Series("b", [1], [2])]
    panel = Panel("panel", "size, tasks", "error, %", lines, x_scale="log")
    figure = Figure("figure", "A figure", [panel, Panel("other", "x", "y", lines[:1])], columns=2)
    assert drawn(figure, tmp_path) == drawn(figure, tmp_path)


def test_the_page_shows_what_does_not_hold() -> None:
    result = {
        "experiment": "spectral",
        "title": "A title",
        "paper": "A paper",
        "summary": "What.",
        "made": {**made(PLAN, {}), "processor": "a"},
        "seconds": 60.0,
        "absent": ["rte is not here."],
        "tables": [
            {
                "name": "t",
                "title": "T",
                "decimals": {"a": 1},
                "lowest_of": ["a", "b"],
                "rows": [{"set": "x|y", "a": 0.25, "b": 3}, {"set": "z", "a": None, "b": 2}],
            }
        ],
        "figures": [{"name": "f", "title": "F"}],
        "claims": [
            {"text": "Yes.", "holds": True, "detail": "1"},
            {"text": "No.", "holds": False, "detail": "2"},
        ],
        "remarks": ["Why."],
    }
    text = page([result], "results")
    assert "| x\\|y | **0.2** | 3 |" in text and "| z | - | **2** |" in text
    assert '??? success "1 of 2 claims hold"\n\n    - Yes. (1)\n' in text
    assert '??? failure "1 of 2 claims do not hold"\n\n    - No. (2)\n' in text
    assert "(results/spectral/f.svg)" in text and "Left out: rte is not here." in text


def test_every_experiment_can_be_had_by_name() -> None:
    for name in EXPERIMENTS:
        assert experiment_named(name).name == name


def test_the_package_does_not_know_the_reproductions() -> None:
    sources = list((ROOT / "src").rglob("*.py"))
    assert len(sources) > 50
    assert [path for path in sources if "reproductions" in path.read_text()] == []
