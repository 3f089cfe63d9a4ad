"""Votes larger than memory, from the outside: the answers are those of memory, whatever happens."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result
from tests.checks import small_blocks

import quorate
from quorate.cli import main
from quorate.errors import DataError, QuorateError, UsageError
from quorate.simulation import simulate
from quorate.votes import MemoryBlocks
from quorate.votes.store import StoredBlocks

METHODS = [m.name for m in quorate.methods()]


@pytest.fixture(scope="module")
def votes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough for several blocks, in no order, with some rows that lack a field."""
    crowd = simulate(60, 60_000, 5, n_classes=2, seed=3)
    frame = pl.DataFrame(
        {
            "task": np.repeat(np.arange(60_000), 5),
            "worker": crowd.labels.worker,
            "label": crowd.labels.label,
        }
    ).sample(fraction=1, shuffle=True, seed=4)
    names = frame.select(pl.format(f"{n}-{{}}", n).alias(n) for n in frame.columns)
    names[7, "worker"] = None
    path = tmp_path_factory.mktemp("votes") / "votes.parquet"
    names.write_parquet(path)
    return path


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.mark.parametrize(
    ("method", "keeps"),
    [("auto", False), ("dawid-skene", False), ("mace", False), ("glad", True)],
)
def test_posteriors_are_kept_on_disk_only_where_sweeps_go_by_them(
    votes: Path, method: str, keeps: bool, tmp_path: Path
) -> None:
    sizes: list[int] = []

    def look(what: str, done: float, total: float | None, how: str = "") -> None:
        states = tmp_path.glob("store/unfinished-*/states/*.state")
        if what.startswith("iteration"):
            sizes.append(sum(path.stat().st_size for path in states))

    store = tmp_path / "store"
    quorate.aggregate(str(votes), method, memory="1GB", store=store, max_iter=2, progress=look)
    assert (max(sizes) > 8 * 60_000) is keeps


@pytest.mark.parametrize(
    ("suffix", "method"), [(".csv", "auto"), (".parquet", "dawid-skene"), (".jsonl", "one-coin")]
)
def test_a_bound_on_memory_changes_nothing_in_the_output(
    votes: Path, suffix: str, method: str, tmp_path: Path
) -> None:
    free, bound = tmp_path / f"free{suffix}", tmp_path / f"bound{suffix}"
    tables = ("workers", "posterior", "confusion")
    run = partial(invoke, "aggregate", votes, "-m", method, "--json")
    free_tables = [x for t in tables for x in (f"--{t}", tmp_path / f"free-{t}.csv")]
    bound_tables = [x for t in tables for x in (f"--{t}", tmp_path / f"bound-{t}.csv")]
    one = run("-o", free, *free_tables)
    other = run("--memory", "1GB", "-o", bound, *bound_tables)
    assert one.exit_code == other.exit_code == 0, other.output
    if suffix == ".parquet":
        assert pl.read_parquet(free).equals(pl.read_parquet(bound))
    else:
        assert free.read_bytes() == bound.read_bytes()
    for table in tables:
        expected = (tmp_path / f"free-{table}.csv").read_bytes()
        assert (tmp_path / f"bound-{table}.csv").read_bytes() == expected
    first, second = json.loads(one.stdout), json.loads(other.stdout)
    assert first["read"] == second["read"]
    assert first["read"]["dropped_missing"] == 1
    sure = [summary["found"].pop("mean_confidence") for summary in (first, second)]
    assert sure[0] == pytest.approx(sure[1], rel=1e-12)
    assert first["found"] == second["found"]
    assert first["notes"] == second["notes"]


@pytest.fixture
def few(votes: Path, tmp_path: Path) -> Path:
    path = tmp_path / "few.parquet"
    pl.read_parquet(votes).head(3_000).write_parquet(path)
    return path


def assert_same(found: quorate.Result, expected: quorate.Result) -> None:
    """Every table, array and number of a result on disk is that of the one in memory."""
    assert isinstance(found.labels, pl.LazyFrame)
    assert found.labels.collect().equals(expected.labels)
    assert found.posterior_table.collect().equals(expected.posterior_table)
    assert found.workers.equals(expected.workers)
    np.testing.assert_array_equal(found.posterior, expected.posterior)
    np.testing.assert_array_equal(found.answers, expected.answers)
    if expected.confusion is not None:
        assert found.confusion_table.equals(expected.confusion_table)
    assert found.iterations == expected.iterations
    assert (found.classes, found.method) == (expected.classes, expected.method)
    assert found.notes == expected.notes


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_the_same_from_disk(few: Path, method: str) -> None:
    """In a few iterations: those that follow are as these."""
    can = quorate.methods()[METHODS.index(method)].options
    options = {"max_iter": 8} if "max_iter" in can else {}
    on_disk = quorate.aggregate(few, method, engine="disk", **options)
    assert_same(on_disk, quorate.aggregate(few, method, **options))


def test_tables_in_memory_go_to_disk_as_well(few: Path) -> None:
    """Votes that were not read from files are spilled by the engine."""
    frame = pl.read_parquet(few)
    expected = quorate.aggregate(frame, "dawid-skene")
    found = quorate.aggregate(frame, "dawid-skene", engine="disk")
    np.testing.assert_array_equal(found.posterior, expected.posterior)
    assert found.labels.lazy().collect().equals(expected.labels)
    assert found.workers.equals(expected.workers)


def test_columns_keep_the_callers_names_on_disk(few: Path, tmp_path: Path) -> None:
    path = tmp_path / "named.parquet"
    pl.read_parquet(few).rename({"task": "item", "label": "answer"}).write_parquet(path)
    expected, found = (quorate.aggregate(path, engine=engine) for engine in (None, "disk"))
    assert found.labels.collect_schema().names()[:2] == ["item", "answer"]
    assert_same(found, expected)


def with_features(root: Path) -> dict[str, Any]:
    crowd = simulate(12, 300, 3, n_classes=3, n_features=6, seed=5)
    crowd.votes.write_parquet(root / "votes.parquet")
    return {
        "votes": root / "votes.parquet",
        "method": "naive-bayes",
        "features": crowd.features,
        "gold": crowd.gold.head(20),
    }


def with_kinds(root: Path) -> dict[str, Any]:
    crowd = simulate(12, 300, 5, n_classes=3, colluders=4, seed=6)
    crowd.votes.write_csv(root / "votes.csv")
    kinds = {name: "model" if i % 2 else "human" for i, name in enumerate(crowd.codebook.workers)}
    return {"votes": root / "votes.csv", "worker_kinds": kinds, "discount": True}


def with_undecided(root: Path) -> dict[str, Any]:
    crowd = simulate(12, 300, 3, seed=7)
    crowd.votes.write_csv(root / "votes.csv")
    return {"votes": root / "votes.csv", "method": "mace", "min_confidence": 0.9}


EVERYTHING = {"features": with_features, "kinds": with_kinds, "min_confidence": with_undecided}


@pytest.mark.parametrize("name", EVERYTHING)
def test_everything_holds_on_disk(name: str, tmp_path: Path) -> None:
    given = EVERYTHING[name](tmp_path)
    assert_same(quorate.aggregate(**given, engine="disk"), quorate.aggregate(**given))


def test_several_right_answers_on_disk(tmp_path: Path) -> None:
    crowd = simulate(12, 200, 4, n_classes=4, several=0.4, seed=8)
    path = tmp_path / "votes.csv"
    crowd.votes.write_csv(path)
    given: dict[str, Any] = {"multilabel": True, "gold": crowd.gold.head(30)}
    expected = quorate.aggregate(path, "dawid-skene", **given)
    found = quorate.aggregate(path, "dawid-skene", **given, engine="disk")
    assert found.labels.lazy().collect().equals(expected.labels)
    assert found.workers.equals(expected.workers)
    np.testing.assert_array_equal(found.answers, expected.answers)
    assert found.notes == expected.notes


def assert_used_again_alike(found: quorate.Result, expected: quorate.Result, root: Path) -> None:
    """What was learned labels new votes, explains, and comes back from a file."""
    new = [
        ("new", "worker-1", "label-0"),
        ("new", "nobody", "label-1"),
        ("x", "worker-2", "label-1"),
    ]
    for task in expected.labels["task"].gather([0, len(expected.labels) - 1]):
        one, other = found.explain(task), expected.explain(task)
        assert one.as_dict() == other.as_dict()
        assert one.votes.equals(other.votes)
    assert found.predict(new).equals(expected.predict(new))
    found.save(root / "found.quorate")
    back = quorate.load(root / "found.quorate")
    assert back.labels.equals(expected.labels) and back.workers.equals(expected.workers)
    assert back.confusion_table.equals(expected.confusion_table)
    assert back.predict(new).equals(expected.predict(new))


@pytest.mark.parametrize("method", ["dawid-skene", "one-coin", "mace"])
def test_results_on_disk_are_used_again_alike(few: Path, method: str, tmp_path: Path) -> None:
    found = quorate.aggregate(few, method, engine="disk")
    assert_used_again_alike(found, quorate.aggregate(few, method), tmp_path)


@pytest.mark.filterwarnings("ignore::Warning")
def test_results_of_a_cluster_are_used_again_alike(
    few: Path, cluster: quorate.Ray, tmp_path: Path
) -> None:
    expected = quorate.aggregate(few, "dawid-skene")
    found = quorate.aggregate(few, "dawid-skene", engine=cluster)
    assert_same(found, expected)
    assert_used_again_alike(found, expected, tmp_path)


@pytest.mark.parametrize("name", EVERYTHING)
@pytest.mark.filterwarnings("ignore::Warning")
def test_everything_holds_on_a_cluster(name: str, cluster: quorate.Ray, tmp_path: Path) -> None:
    given = EVERYTHING[name](tmp_path)
    assert_same(quorate.aggregate(**given, engine=cluster), quorate.aggregate(**given))


def test_known_answers_and_orders_hold_on_disk(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "task": random.integers(40, size=400),
            "worker": random.integers(8, size=400),
            "label": random.choice(["low", "mid", "high"], size=400),
        }
    )
    path = tmp_path / "votes.csv"
    frame.write_csv(path)
    gold = {0: "high", 3: "top", 999: "low"}
    order = ["low", "mid", "high", "top"]
    model = quorate.DawidSkene(smoothing=0.1)
    for options in ({"gold": gold}, {"ordered": order}, {"gold": gold, "ordered": order}):
        expected = quorate.aggregate(path, model, **options)
        assert_same(quorate.aggregate(path, model, engine="disk", **options), expected)


def test_a_store_is_used_again_by_the_same_votes_only(votes: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    quorate.aggregate(votes, "majority", store=store)
    blocks = sorted(store.glob("**/worker.npy"))
    times = [block.stat().st_mtime_ns for block in blocks]
    assert len(blocks) > 1
    again = quorate.aggregate(votes, "one-coin", max_iter=2, store=store)
    assert again.overview.tasks == 60_000
    assert [block.stat().st_mtime_ns for block in blocks] == times
    other = tmp_path / "other.csv"
    other.write_text("task,worker,label\n1,a,x\n")
    with pytest.raises(UsageError, match="holds other votes"):
        quorate.aggregate(other, store=store)


def test_a_directory_with_other_things_in_it_is_left_alone(votes: Path, tmp_path: Path) -> None:
    (tmp_path / "blocks").mkdir()
    (tmp_path / "blocks" / "thesis.txt").write_text("years of work")
    with pytest.raises(QuorateError, match="is not empty"):
        quorate.aggregate(votes, store=tmp_path)
    assert (tmp_path / "blocks" / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"memory": "10MB"}, "is too little"),
        ({"memory": "much"}, "memory is a size such as 2GB"),
        ({"resume": True}, "name the store"),
        ({"engine": "ray", "address": "127.0.0.1:1"}, "needs a store"),
        ({"engine": "stream"}, "engine is one of threads, disk, ray"),
        ({"memory": "1GB", "method": "telepathy"}, "telepathy"),
    ],
)
def test_what_cannot_be_is_said_before_it_starts(
    votes: Path, options: dict[str, Any], sentence: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(QuorateError, match=sentence) as refused:
        quorate.aggregate(votes, **options)
    assert "\n" not in str(refused.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("few", [True, False])
def test_a_few_blocks_are_read_once(few: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = simulate(9, 400, 3, n_classes=2, seed=1).labels
    read: list[int] = []
    block_of = StoredBlocks.__getitem__

    def counted(blocks: StoredBlocks, index: int) -> Any:
        read.append(index)
        return block_of(blocks, index)

    monkeypatch.setattr(StoredBlocks, "__getitem__", counted)
    if not few:
        monkeypatch.setattr("quorate.engines.threads.BLOCK_SIZE", labels.n_labels)
    with small_blocks(200):
        fold = quorate.Disk(1).over(MemoryBlocks(labels))
    fold.begin(lambda block: None)
    for _ in range(3):
        n_labels = fold.sweep(lambda block, params, state: (None, (block.n_labels,)), None)
        assert n_labels == (1200,)
    assert len(set(read)) > 4
    assert [read.count(i) for i in set(read)] == [1 if few else 4] * len(set(read))


def test_too_many_workers_for_the_memory_is_said(tmp_path: Path) -> None:
    rows = 60_000
    path = tmp_path / "votes.parquet"
    frame = pl.DataFrame({"task": range(rows), "worker": range(rows), "label": range(rows)})
    frame.with_columns(pl.col("label") % 100).write_parquet(path)
    with pytest.raises(DataError, match="60,000 workers and 100 classes need about"):
        quorate.aggregate(path, memory="1GB")


@pytest.mark.usefixtures("a_minute")
@pytest.mark.parametrize(("suffix", "method"), [(".parquet", "auto"), (".csv", "dawid-skene")])
def test_memory_is_bounded_as_the_system_counts_it(
    suffix: str, method: str, tmp_path: Path
) -> None:
    """A file that needs more than twice the bound when it is read at once."""
    random = np.random.default_rng(0)
    rows = 6_000_000
    frame = pl.DataFrame(
        {
            "task": random.integers(rows // 5, size=rows),
            "worker": random.integers(1000, size=rows),
            "label": random.integers(3, size=rows),
        }
    )
    path = tmp_path / f"votes{suffix}"
    names = frame.select(pl.format(f"the-{n}-{{}}", n).alias(n) for n in frame.columns)
    names.write_parquet(path) if suffix == ".parquet" else names.write_csv(path)
    free = peak_of(path, tmp_path, method="dawid-skene")
    bound = peak_of(path, tmp_path, method=method, memory="450MB")
    assert bound < 450e6 < 1.2 * 450e6 < free


AGGREGATE = """
import json, sys, quorate
votes, labels, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
result = quorate.aggregate(votes, **options)
result.labels.lazy().sink_parquet(labels)
print(json.dumps(result.notes))
"""


def command(votes: Path, labels: Path, **options: Any) -> list[str]:
    """A process that aggregates, writes the labels, and prints the notes."""
    return [sys.executable, "-c", AGGREGATE, str(votes), str(labels), json.dumps(options)]


def peak_of(path: Path, place: Path, **options: Any) -> int:
    """Measured by a small process: one counts the memory of who started it as its own."""
    measure = (
        "import os, subprocess, sys;"
        "process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL);"
        "_, status, usage = os.wait4(process.pid, 0);"
        "print(-1 if status else usage.ru_maxrss)"
    )
    measured = command(path, place / "labels.parquet", max_iter=2, **options)
    small = [sys.executable, "-c", measure, *measured]
    peak = int(subprocess.run(small, capture_output=True, check=True).stdout)
    assert peak > 0
    return peak * 1024


def test_what_was_killed_goes_on_where_it_was(votes: Path, tmp_path: Path) -> None:
    store, labels = tmp_path / "store", tmp_path / "labels.parquet"
    options: dict[str, Any] = {"method": "dawid-skene", "tol": 0.0, "max_iter": 60}
    resumed = command(votes, labels, **options, store=str(store), resume=True)
    for call in (command(votes, labels, **options, store=str(store)), resumed):
        with subprocess.Popen(call) as process:
            try:
                wait_for_iterations(3, store, process)
            finally:
                process.kill()
        assert not labels.exists()
    notes = json.loads(subprocess.run(resumed, capture_output=True, check=True).stdout)
    assert any(note.startswith("The fit was resumed from iteration") for note in notes), notes
    assert pl.read_parquet(labels).equals(quorate.aggregate(votes, **options).labels)
    assert not list(store.glob("**/checkpoint.state"))


def wait_for_iterations(n: int, store: Path, process: Any) -> None:
    seen: set[int] = set()
    until = time.monotonic() + 120
    while len(seen) < n:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < until
        seen |= {place.stat().st_mtime_ns for place in store.glob("unfinished-*/checkpoint.state")}
        time.sleep(0.002)
