"""Every method on every data set, and Crowd-Kit's where it is installed: error, time and memory."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from quorate import datasets
from quorate.kernels import Floats
from reproductions.experiment import Cell, Claim, Experiment, Plan, Report, Table
from reproductions.field import auto
from reproductions.fitting import WITHOUT_FEATURES as OURS
from reproductions.fitting import fitted, takes
from reproductions.remarks import Remarks
from reproductions.scoring import Known, known, percent_wrong

REMARKS = Remarks.beside(__file__)

DATA_SETS = (
    *("bird", "rte", "temp", "trec", "web", "dog", "adult2"),
    *("bm", "sp", "labelme", "d_possent", "weather", "wsd", "s_rel"),
)
SMALL = ("bird", "bm", "wsd")
PEERS = (
    *("MajorityVote", "DawidSkene", "OneCoinDawidSkene", "GLAD", "MACE", "KOS", "MMSR"),
    *("Wawa", "ZeroBasedSkill"),
)
# What each is the same method as.
TWINS = {
    "MajorityVote": "majority",
    "DawidSkene": "dawid-skene",
    "OneCoinDawidSkene": "one-coin",
    "GLAD": "glad",
    "MACE": "mace",
    "KOS": "kos",
}
# So many labels are enough for those that would take many minutes.
MOST_LABELS = {"GLAD": 10_000, "MMSR": 30_000, "MACE": 30_000}
LARGE = ("trec", "s_rel", "sp", "d_possent", "weather", "web")


def cells(plan: Plan) -> list[Cell]:
    sets = [name for name in DATA_SETS if name in plan.here]
    if plan.quick:
        sets = [name for name in sets if name in SMALL]
    ours = [
        Cell(f"ours/{name}/{method}", ours_on, {"name": name, "method": method}, _cost(name))
        for name in sets
        for method in OURS
    ]
    ours += auto.cells(plan, sets)
    if find_spec("crowdkit") is None or plan.quick:
        return ours
    peers = [
        Cell(f"crowd-kit/{name}/{peer}", peer_on, {"name": name, "peer": peer}, 8 * _cost(name))
        for name in sets
        for peer in PEERS
    ]
    return [*ours, *peers]


def _cost(name: str) -> float:
    return 1.0 if name in LARGE else 0.2


def ours_on(plan: Plan, name: str, method: str) -> dict[str, Any] | None:
    votes = known(name, plan.directory)
    if not takes(method, votes.labels):
        return None
    return measured(plan, lambda: fitted(method, votes.labels).posterior, votes)


def peer_on(plan: Plan, name: str, peer: str) -> dict[str, Any] | None:
    """None where it does not apply; where it breaks, the error's name."""
    import logging
    import warnings

    from crowdkit import aggregation

    votes = known(name, plan.directory)
    if peer == "KOS" and votes.labels.n_classes > 2:
        return None
    if votes.labels.n_labels > MOST_LABELS.get(peer, np.inf):
        return None
    frame = datasets.votes(name, plan.directory).to_pandas()
    if peer == "KOS":  # which takes -1 and 1
        signs = dict(zip(votes.codebook.classes.cast(str).to_list(), (-1, 1), strict=True))
        frame["label"] = frame["label"].map(signs)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)

    def answers() -> Floats:
        kind = getattr(aggregation, peer)
        model = kind(n_iter=20, n_restarts=5) if peer == "MACE" else kind()
        return _one_hot(model.fit_predict(frame), votes)

    try:
        return measured(plan, answers, votes)
    except Exception as error:  # whatever another library raises is its result
        return {"failed": type(error).__name__}


def _one_hot(answers: Any, votes: Known) -> Floats:
    """Crowd-Kit's answers, by name, as a posterior in the order of our tasks."""
    classes = {str(name): i for i, name in enumerate(votes.codebook.classes.to_list())}
    if answers.dtype != object and set(answers.unique()) <= {-1, 1}:
        classes = {"-1": 0, "1": 1}
    by_task = {str(task): classes[str(label)] for task, label in answers.items()}
    codes = [by_task[str(task)] for task in votes.codebook.tasks.to_list()]
    one_hot: Floats = np.eye(votes.labels.n_classes)[codes]
    return one_hot


def measured(plan: Plan, answers: Callable[[], Floats], votes: Known) -> dict[str, Any]:
    """The error in percent, the seconds of the best of a few runs, and, where these are few, the
    peak in megabytes of what a further run (made slow by tracing) allocates, arrays included."""
    seconds: list[float] = []
    while not seconds or (len(seconds) < plan.pick(3, 1) and sum(seconds) < 0.5):
        began = time.perf_counter()
        posterior = answers()
        seconds.append(time.perf_counter() - began)
    return {
        "error": percent_wrong(posterior, votes.truth),
        "seconds": min(seconds),
        "megabytes": megabytes(answers) if min(seconds) < plan.pick(1, 0.02) else None,
    }


def megabytes(call: Callable[[], Any]) -> float:
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def report(plan: Plan, found: Mapping[str, Any]) -> Report:
    sets = [name for name in DATA_SETS if f"ours/{name}/majority" in found]
    columns = {f"ours/{{}}/{method}": method for method in OURS}
    columns |= {f"crowd-kit/{{}}/{peer}": f"crowd-kit {peer}" for peer in PEERS}
    columns = {key: column for key, column in columns.items() if _any(found, sets, key)}
    if not sets:
        return Report()
    tables = [
        _table(
            "error", "Error on the tasks whose truth is known, percent", 1, columns, sets, found
        ),
        _table("seconds", "Time of the fit on one thread, seconds", 4, columns, sets, found),
        _table("megabytes", "Memory beyond the votes, megabytes", 2, columns, sets, found),
    ]
    of_auto = auto.report(found, tables[0].rows)
    return Report(
        tables=[*tables, *_races(sets, found), *of_auto.tables],
        claims=[*_claims(tables[0], found), *of_auto.claims],
        remarks=[*_remarks(found), *of_auto.remarks],
    )


def _any(found: Mapping[str, Any], sets: Sequence[str], key: str) -> bool:
    return any("error" in (found.get(key.format(name)) or {}) for name in sets)


def _table(
    what: str,
    title: str,
    decimals: int,
    columns: Mapping[str, str],
    sets: Sequence[str],
    found: Mapping[str, Any],
) -> Table:
    rows: list[dict[str, Any]] = [
        {
            "data": name,
            **{c: (found.get(key.format(name)) or {}).get(what) for key, c in columns.items()},
        }
        for name in sets
    ]
    if what == "error":
        rows.append(
            {"data": "mean", **{c: _mean([row[c] for row in rows]) for c in columns.values()}}
        )
    names = list(columns.values())
    return Table(what, title, rows, dict.fromkeys(names, decimals), lowest_of=names)


def _mean(values: Sequence[float | None]) -> float | None:
    """Mean over the sets; None for a method that did not run on every one."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def _races(sets: Sequence[str], found: Mapping[str, Any]) -> list[Table]:
    """Ratios of Crowd-Kit's time to ours, for the same method."""
    rows = []
    for peer, ours in TWINS.items():
        ratios = [
            theirs["seconds"] / found[f"ours/{name}/{ours}"]["seconds"]
            for name in sets
            if "seconds" in (theirs := found.get(f"crowd-kit/{name}/{peer}") or {})
        ]
        if ratios:
            rows.append(
                {
                    "method": ours,
                    "sets": len(ratios),
                    "least": min(ratios),
                    "median": float(np.median(ratios)),
                    "most": max(ratios),
                }
            )
    decimals = {"least": 1, "median": 1, "most": 1}
    title = "Crowd-Kit's time over ours, for the same method"
    return [Table("race", title, rows, decimals)] if rows else []


def _claims(errors: Table, found: Mapping[str, Any]) -> list[Claim]:
    mean = {c: v for c, v in errors.rows[-1].items() if isinstance(v, float)}
    best = min(mean, key=lambda column: mean[column])
    worse = [
        row["data"]
        for row in errors.rows[:-1]
        if row["dawid-skene"] is not None and row["dawid-skene"] > row["majority"] + 1e-9
    ]
    return [
        Claim(
            "No method is the best on every set.",
            not any(
                all(row[c] is not None and row[c] == _lowest(row) for row in errors.rows[:-1])
                for c in mean
            ),
            f"the best mean is that of {best}, {mean[best]:.2f} %, against {mean['majority']:.2f} %"
            " of the vote",
        ),
        Claim(
            "On some sets Dawid-Skene errs more than the vote.",
            bool(worse),
            ", ".join(worse) or "none of these",
        ),
    ]


def _lowest(row: Mapping[str, Any]) -> float:
    return min(value for value in row.values() if isinstance(value, float))


def _remarks(found: Mapping[str, Any]) -> list[str]:
    failed: dict[str, set[str]] = {}
    for key, result in found.items():
        if result and "failed" in result:
            failed.setdefault(key.split("/")[-1], set()).add(result["failed"])
    remarks = [REMARKS.fill("Defaults")]
    if any(key.startswith("crowd-kit/") for key in found):
        limits = [f"{peer} above {most:,} labels" for peer, most in MOST_LABELS.items()]
        remarks.append(REMARKS.fill("Crowd-Kit", limits=", ".join(limits)))
    for peer, errors in sorted(failed.items()):
        names = " and ".join(sorted(errors))
        remarks.append(REMARKS.fill("Crowd-Kit fails", peer=peer, errors=names))
    return remarks


EXPERIMENT = Experiment(
    name="field",
    title="The field",
    paper="Every method here, and Crowd-Kit's",
    summary="Error, time and memory of all methods on all data sets; the best of each row marked.",
    data_sets=DATA_SETS,
    cells=cells,
    report=report,
)
