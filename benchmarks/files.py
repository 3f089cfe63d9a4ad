"""From a file of votes to a file of answers: time, memory and agreement, at several sizes.

    python benchmarks/files.py                            # 1, 10 and 100 million rows
    python benchmarks/files.py --rows 1000000 10000000 -o docs/results/files
    python benchmarks/files.py --goals                    # 1 and 10 million against polars' vote

Every contestant is a process of its own that reads the votes and writes the labels; its memory is
that of the process at its peak, as the system saw it. Dawid-Skene runs 20 iterations everywhere,
and once as Quorate does by default. The vote of DuckDB and of polars is the floor: no model at all.

`--goals` runs the vote by polars, ours, Dawid-Skene and `auto` in turns, several times, and prints
medians beside the goals, and where the time went (`stages.py`). On a machine that is not idle the
ratios of processor time say more than those of the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from figures import draw_files
from rich.console import Console
from rich.table import Table

PER_TASK, WORKERS, CLASSES, ITERATIONS = 5, 10_000, 4, 20
NOTE = (
    "The paper of Fast Dawid-Skene reports up to 7.84 times less time to converge than Dawid-Skene"
    " in one program of its authors: an iteration costs the same, and it needs fewer."
)


def quorate(*options: str) -> Callable[[Path, Path], Sequence[str]]:
    def command(votes: Path, labels: Path) -> Sequence[str]:
        what = ["-m", "quorate", "aggregate", str(votes), "-o", str(labels), "--json"]
        return [sys.executable, *what, *options]

    return command


def script(text: str) -> Callable[[Path, Path], Sequence[str]]:
    def command(votes: Path, labels: Path) -> Sequence[str]:
        return [sys.executable, "-c", text, str(votes), str(labels)]

    return command


CROWD_KIT = f"""
import sys
import pandas as pd
from crowdkit.aggregation import DawidSkene
votes = pd.read_csv(sys.argv[1])
DawidSkene(n_iter={ITERATIONS}, tol=0.0).fit_predict(votes).to_csv(sys.argv[2])
"""
DUCKDB = """
import sys
import duckdb
vote = f"select task, mode(label) as label from '{sys.argv[1]}' group by task"
duckdb.sql(f"copy ({vote}) to '{sys.argv[2]}'")
"""
POLARS = """
import sys
import polars as pl
kind = sys.argv[1].rpartition(".")[2]
votes = pl.scan_parquet(sys.argv[1]) if kind == "parquet" else pl.scan_csv(sys.argv[1])
count = votes.group_by("task", "label").len()
vote = count.group_by("task").agg(pl.col("label").sort_by("len").last())
(vote.sink_parquet if kind == "parquet" else vote.sink_csv)(sys.argv[2])
"""
SAME = ("-m", "dawid-skene", "--tol", "0", "--max-iter", str(ITERATIONS))


@dataclass(frozen=True)
class Contestant:
    name: str
    command: Callable[[Path, Path], Sequence[str]]
    format: str
    most_rows: int


CONTESTANTS = (
    Contestant("Quorate, csv", quorate(*SAME), "csv", 10_000_000),
    Contestant("Quorate, csv, as it comes", quorate(), "csv", 10_000_000),
    Contestant("Crowd-Kit, csv", script(CROWD_KIT), "csv", 10_000_000),
    Contestant("vote by DuckDB, csv", script(DUCKDB), "csv", 10_000_000),
    Contestant("vote by polars, csv", script(POLARS), "csv", 10_000_000),
    Contestant("Quorate, parquet", quorate(*SAME), "parquet", 100_000_000),
    Contestant("Quorate, parquet, 2 GB", quorate(*SAME, "--memory", "2GB"), "parquet", 100_000_000),
    Contestant("vote by DuckDB, parquet", script(DUCKDB), "parquet", 100_000_000),
    Contestant("vote by polars, parquet", script(POLARS), "parquet", 100_000_000),
)


def make_votes(rows: int, place: Path, csv: bool) -> dict[str, Path]:
    """Shuffled votes of workers of different skill, with names of tasks, workers and labels."""
    random = np.random.default_rng(1)
    skill = random.beta(6, 2, WORKERS)
    order = random.permutation(rows).astype(np.int32)
    task = order // PER_TASK
    truth = random.integers(CLASSES, size=rows // PER_TASK, dtype=np.int8)
    worker = random.integers(WORKERS, size=rows, dtype=np.int32)
    right = random.random(rows, dtype=np.float32) < skill[worker]
    label = np.where(right, truth[task], random.integers(CLASSES, size=rows, dtype=np.int8))
    del order, right
    frame = pl.DataFrame({"task": task, "worker": worker, "label": label})
    del task, worker, label
    names = frame.lazy().select(pl.format(f"{n}-{{}}", n).alias(n) for n in frame.columns)
    paths = {"parquet": place / f"{rows}.parquet"}
    names.sink_parquet(paths["parquet"])
    if csv:
        paths["csv"] = place / f"{rows}.csv"
        names.sink_csv(paths["csv"])
    return paths


# Small, because a process counts the memory of the one it was started by as its own.
MEASURE = """
import json, os, subprocess, sys, time
began = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
errors = process.stderr.read().decode()
_, status, usage = os.wait4(process.pid, 0)
print(json.dumps({
    "seconds": time.perf_counter() - began,
    "cpu": usage.ru_utime + usage.ru_stime,
    "memory": usage.ru_maxrss * 1024,
    "errors": errors if status else "",
}))
"""


def run(contestant: Contestant, votes: Path, labels: Path) -> dict[str, Any]:
    """Seconds, those of CPU, and the peak memory of the process in bytes, as the system counted."""
    command = [sys.executable, "-c", MEASURE, *contestant.command(votes, labels)]
    printed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    found: dict[str, Any] = json.loads(printed)
    errors = found.pop("errors")
    if errors:
        raise RuntimeError(f"{contestant.name}: {errors}")
    return found


VOTE = Contestant("vote by polars", script(POLARS), "csv", 10_000_000)
OURS = {
    "vote": ("majority",),
    "Dawid-Skene": ("dawid-skene", "--tol", "0", "--max-iter", str(ITERATIONS)),
    "auto": ("auto",),
}
MANY, FEW = 10_000_000, 1_000_000
POLARS_SECONDS = 2.1  # of polars' vote of many rows, on the machine that the seconds are meant for
GOALS = {
    (MANY, "vote"): 1.2,  # times polars' vote
    (MANY, "Dawid-Skene"): 1.8,
    (MANY, "auto"): 3.0,
    (FEW, "vote"): 0.6,  # seconds, where polars' vote of many takes so long
    (FEW, "Dawid-Skene"): 0.9,
    (FEW, "auto"): 1.6,
}


def in_turns(rows: int, rounds: int, place: Path, console: Console) -> dict[str, Any]:
    """Medians of polars' vote and of ours, run in turns, and the stages of one more run of each."""
    votes, labels = make_votes(rows, place, csv=True)["csv"], place / "labels.csv"
    runs = [VOTE, *(Contestant(n, quorate("-m", *given), "csv", MANY) for n, given in OURS.items())]
    found: dict[str, list[dict[str, Any]]] = {contestant.name: [] for contestant in runs}
    for number in range(rounds):
        console.print(f"{rows:,} rows: round {number + 1} of {rounds}", style="dim")
        for contestant in runs:
            found[contestant.name].append(run(contestant, votes, labels))
    stages = {name: stages_of(given, votes, labels) for name, given in OURS.items()}
    for path in place.iterdir():
        path.unlink()
    medians = {
        name: {key: float(np.median([each[key] for each in all_runs])) for key in all_runs[0]}
        for name, all_runs in found.items()
    }
    return {"medians": medians, "stages": stages}


def stages_of(given: Sequence[str], votes: Path, labels: Path) -> dict[str, list[float]]:
    method, *options = given
    script = str(Path(__file__).with_name("stages.py"))
    command = [sys.executable, script, str(votes), str(labels), method, *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    stages: dict[str, list[float]] = json.loads(done.stdout)
    return stages


def show_goals(found: dict[int, dict[str, Any]], rounds: int, console: Console) -> None:
    """Each goal beside what was found, by the clock and by processor time, and the stages."""
    table = Table(title=f"Medians of {rounds}, CSV to CSV")
    for column in ("rows", "", "seconds", "CPU", "peak MB", "goal", "by the clock", "by CPU"):
        table.add_column(column, justify="left" if column == "" else "right")
    many = found.get(MANY, {}).get("medians", {}).get(VOTE.name)
    for rows, outcome in found.items():
        for name, median in outcome["medians"].items():
            cells = [f"{median['seconds']:.2f}", f"{median['cpu']:.2f}"]
            cells.append(f"{median['memory'] / 1e6:,.0f}")
            goal = GOALS.get((rows, name))
            if goal is not None and many is not None:
                scale = 1.0 if rows == MANY else POLARS_SECONDS
                ratios = [scale * median[key] / many[key] for key in ("seconds", "cpu")]
                unit = "times" if rows == MANY else "s"
                cells += [f"{goal} {unit}", *(f"{ratio:.2f}" for ratio in ratios)]
            table.add_row(f"{rows:,}", name, *cells)
    console.print(table)
    for rows, outcome in found.items():
        table = Table("stage", *outcome["stages"], title=f"{rows:,} rows: seconds (CPU)")
        for stage in dict.fromkeys(s for stages in outcome["stages"].values() for s in stages):
            spent = (stages.get(stage) for stages in outcome["stages"].values())
            cells = ["" if each is None else f"{each[0]:.2f} ({each[1]:.2f})" for each in spent]
            table.add_row(stage, *cells)
        console.print(table)


def goals(arguments: argparse.Namespace, console: Console) -> None:
    found = {}
    with tempfile.TemporaryDirectory() as place:
        for rows in (FEW, MANY):
            if rows in arguments.rows:
                found[rows] = in_turns(rows, arguments.rounds, Path(place), console)
    show_goals(found, arguments.rounds, console)
    if arguments.output:
        arguments.output.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"rounds": arguments.rounds, "runs": found}, indent=1)
        (arguments.output / "goals.json").write_text(text + "\n")


def labels_of(path: Path) -> pl.DataFrame:
    frame = pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path)
    return frame.rename({"agg_label": "label"}, strict=False).select("task", "label").sort("task")


def race(
    rows: int, contestants: Sequence[Contestant], place: Path, console: Console
) -> list[dict[str, Any]]:
    csv = any(c.format == "csv" and rows <= c.most_rows for c in contestants)
    paths = make_votes(rows, place, csv)
    results: list[dict[str, Any]] = []
    measure: dict[str, pl.DataFrame] = {}
    for contestant in contestants:
        if rows > contestant.most_rows:
            continue
        console.print(f"{rows:,} rows: {contestant.name}", style="dim")
        labels = place / f"labels.{contestant.format}"
        result = run(contestant, paths[contestant.format], labels)
        found = labels_of(labels)
        first = measure.setdefault(contestant.format, found)
        agreement = int((found["label"] == first["label"]).sum()) / len(found)
        results.append({"name": contestant.name, "rows": rows, "agreement": agreement, **result})
        labels.unlink()
    for path in paths.values():
        path.unlink()
    return results


def joined(results: list[dict[str, Any]], path: Path) -> list[dict[str, Any]]:
    """The results, and those there of other sizes and contestants, in order."""
    known = {(r["rows"], r["name"]): r for r in results}
    if path.exists():
        for run in json.loads(path.read_text())["runs"]:
            known.setdefault((run["rows"], run["name"]), run)
    names = [contestant.name for contestant in CONTESTANTS]
    return [known[key] for key in sorted(known, key=lambda key: (key[0], names.index(key[1])))]


def slopes(results: list[dict[str, Any]]) -> dict[str, float]:
    """By which power of the rows the seconds grow, of those that ran at several sizes."""
    found = {}
    for name in dict.fromkeys(r["name"] for r in results):
        points = [(r["rows"], r["seconds"]) for r in results if r["name"] == name]
        if len(points) > 1:
            x, y = np.log(np.array(points)).T
            found[name] = float(np.polyfit(x, y, 1)[0])
    return found


def show(results: list[dict[str, Any]], console: Console) -> None:
    peers = {r["rows"]: r for r in results if r["name"].startswith("Crowd-Kit")}
    table = Table(title="From file to file, on this machine")
    for column in (
        "rows",
        "contestant",
        "seconds",
        "ns a row",
        "peak MB",
        "of Crowd-Kit's seconds",
    ):
        table.add_column(column, justify="left" if column == "contestant" else "right")
    table.add_column("same labels as Quorate's", justify="right")
    for r in results:
        peer = peers.get(r["rows"])
        ratio = "" if peer is None else f"{peer['seconds'] / r['seconds']:.1f}"
        table.add_row(
            f"{r['rows']:,}",
            r["name"],
            f"{r['seconds']:.2f}",
            f"{r['seconds'] / r['rows'] * 1e9:,.0f}",
            f"{r['cpu'] / r['rows'] * 1e9:,.0f}" if "cpu" in r else "",
            f"{r['memory'] / 1e6:,.0f}",
            ratio,
            f"{r['agreement']:.2%}",
        )
    console.print(table)
    console.print(
        "times: Crowd-Kit's seconds for each of these; agree: with the labels of the first."
    )
    console.print(NOTE)
    for name, slope in slopes(results).items():
        console.print(f"{name}: seconds grow as rows to the power {slope:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7, 10**8])
    parser.add_argument("--without", nargs="+", default=[], help="contestants to leave out")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        help="a directory for the figures and plot; what is there of"
        " other sizes and contestants stays",
    )
    parser.add_argument("--goals", action="store_true", help="polars' vote beside ours, in turns")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each, with --goals")
    arguments = parser.parse_args()
    console = Console(width=110)
    if arguments.goals:
        goals(arguments, console)
        return
    contestants = [c for c in CONTESTANTS if not c.name.startswith(tuple(arguments.without))]
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as place:
        for rows in arguments.rows:
            results += race(rows, contestants, Path(place), console)
    if arguments.output:
        results = joined(results, arguments.output / "results.json")
    show(results, console)
    if arguments.output:
        arguments.output.mkdir(parents=True, exist_ok=True)
        about = {"cores": os.cpu_count(), "python": platform.python_version(), "note": NOTE}
        found = {**about, "slopes": slopes(results), "runs": results}
        (arguments.output / "results.json").write_text(json.dumps(found, indent=1) + "\n")
        draw_files(results, arguments.output / "files.svg")


if __name__ == "__main__":
    main()
