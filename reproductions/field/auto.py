"""Auto against the vote and every method, over several seeds: error, calibration, expected error,
and what it found of each crowd.

Beside the sets of the catalogue there may be further ones: folders with a labels.csv and a gold.csv
in `data-second` beside the data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reproductions.experiment import Cell, Claim, Plan, Report, Table
from reproductions.fitting import TABLES, WITHOUT_FEATURES, calibration_error, fitted, takes
from reproductions.remarks import Remarks
from reproductions.scoring import Known, known, known_in, percent_wrong

REMARKS = Remarks.beside(__file__)

SECOND = "data-second"
SEEDS = range(3)  # of which votes are held out
COMPARED = ("majority", "dawid-skene", "mace", "hierarchical")
MOST_BELOW_VOTE, NEAR = 0.7, 1.5  # points


# What is found.


def cells(plan: Plan, sets: Sequence[str], cost: float = 0.5) -> list[Cell]:
    of_auto = [Cell(f"auto/{name}", auto_on, {"name": name}, cost) for name in sets]
    for folder in second_sets(plan)[plan.pick(slice(None), slice(-2, None))]:
        given = {"name": folder.name, "checksum": _checksum(folder)}
        of_auto.append(Cell(f"second/{folder.name}", auto_on_second, given, cost))
        of_auto.append(Cell(f"errors/{folder.name}", errors_on_second, given, 2 * cost))
    return of_auto


def second_sets(plan: Plan) -> list[Path]:
    """The folders of the further sets."""
    beside = plan.directory.parent / SECOND
    return sorted(gold.parent for gold in beside.glob("*/gold.csv"))


def _checksum(folder: Path) -> str:
    parts = b"".join((folder / f"{table}.csv").read_bytes() for table in TABLES)
    return hashlib.sha256(parts).hexdigest()[:16]


def auto_on(plan: Plan, name: str) -> dict[str, Any]:
    return found_by_auto(known(name, plan.directory))


def auto_on_second(plan: Plan, name: str, checksum: str) -> dict[str, Any]:
    return found_by_auto(known_in(plan.directory.parent / SECOND / name))


def errors_on_second(plan: Plan, name: str, checksum: str) -> dict[str, float | None]:
    """The error of every method, in percent."""
    votes = known_in(plan.directory.parent / SECOND / name)
    return {
        method: percent_wrong(fitted(method, votes.labels).posterior, votes.truth)
        if takes(method, votes.labels)
        else None
        for method in WITHOUT_FEATURES
    }


def found_by_auto(votes: Known) -> dict[str, Any]:
    labels, truth = votes.labels, votes.truth
    by_seed = [fitted("auto", labels, seed=seed) for seed in SEEDS]
    posteriors = {method: fitted(method, labels).posterior for method in COMPARED}
    calibration = {method: calibration_error(p, truth) for method, p in posteriors.items()}
    of_auto = [calibration_error(each.posterior, truth) for each in by_seed]
    return {
        "tasks": labels.n_tasks,
        "vote": percent_wrong(posteriors["majority"], truth),
        "errors": [percent_wrong(each.posterior, truth) for each in by_seed],
        "calibration": {**calibration, "auto": float(np.mean(of_auto))},
        "expected": list(by_seed[0].expected_error),
        **(by_seed[0].mixture or {}),
    }


# What is shown.


def report(found: Mapping[str, Any], errors: Sequence[Mapping[str, Any]]) -> Report:
    """`errors` are the rows of all methods' errors on the first sets, the last their means."""
    sets = [row["data"] for row in errors[:-1] if f"auto/{row['data']}" in found]
    first = {name: found[f"auto/{name}"] for name in sets}
    if not sets:
        return Report()
    second = _of_kind(found, "second")
    second_errors = _with_means(_of_kind(found, "errors"))
    return Report(
        tables=[
            *_second_errors(second_errors),
            *(table(first, second) for table in (_by_seed, _found, _calibration, _expected)),
        ],
        claims=[
            *_error_claims(errors, "the sets"),
            *(_error_claims(second_errors, "the further sets") if second_errors else []),
            *_vote_claims({**first, **second}),
            *_trust_claims(first),
        ],
        remarks=[REMARKS.fill("Auto", seeds=len(SEEDS), further=len(second))],
    )


def _of_kind(found: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {key.split("/")[1]: cell for key, cell in found.items() if key.startswith(f"{kind}/")}


def _with_means(errors: Mapping[str, Mapping[str, float | None]]) -> list[dict[str, Any]]:
    """A row for each set, then the means of the methods that ran on all of them."""
    rows: list[dict[str, Any]] = [{"data": name, **row} for name, row in errors.items()]
    return [*rows, _mean(rows)] if rows else []


def _mean(rows: Sequence[Mapping[str, Any]], name: str = "mean") -> dict[str, Any]:
    columns = [column for column in rows[0] if column != "data"]
    return {"data": name, **{c: _mean_of([row[c] for row in rows]) for c in columns}}


def _mean_of(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def _both(
    first: Iterable[Mapping[str, Any]], second: Iterable[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Rows of the first sets and their mean, and the same of the further ones."""
    rows: list[Mapping[str, Any]] = []
    for some, name in ((list(first), "mean"), (list(second), "mean of the further sets")):
        rows += [*some, _mean(some, name)] if some else []
    return rows


def _second_errors(rows: Sequence[Mapping[str, Any]]) -> list[Table]:
    if not rows:
        return []
    names = [column for column in rows[0] if column != "data"]
    title = "Error on further sets, percent"
    return [Table("error-second", title, rows, dict.fromkeys(names, 1), lowest_of=names)]


def _by_seed(first: Mapping[str, Any], second: Mapping[str, Any]) -> Table:
    def row(name: str, cell: Mapping[str, Any]) -> dict[str, Any]:
        by_seed = {f"auto, seed {seed}": e for seed, e in zip(SEEDS, cell["errors"], strict=True)}
        worst = max(cell["errors"]) - cell["vote"]
        return {"data": name, "the vote": cell["vote"], **by_seed, "at worst": worst}

    rows = _both((row(*item) for item in first.items()), (row(*item) for item in second.items()))
    decimals = dict.fromkeys((column for column in rows[0] if column != "data"), 2)
    title = "Error of auto by the seed, percent, and at worst how much more than the vote's"
    return Table("seeds", title, rows, decimals)


def _found(first: Mapping[str, Any], second: Mapping[str, Any]) -> Table:
    rows = [
        {
            "data": name,
            **cell["weights"],
            "dependence": cell["dependence"],
            "tasks": cell["tasks"],
            "they differ on": cell["tasks_that_differ"],
        }
        for name, cell in (*first.items(), *second.items())
    ]
    decimals = {"dependence": 2, "tasks": 0, "they differ on": 0}
    title = "The weights that auto gives, and how far it finds votes to depend on each other"
    return Table("weights", title, rows, decimals)


def _calibration(first: Mapping[str, Any], second: Mapping[str, Any]) -> Table:
    rows = _both(
        *(
            [{"data": name, **cell["calibration"]} for name, cell in cells.items()]
            for cells in (first, second)
        )
    )
    names = [column for column in rows[0] if column != "data"]
    return Table("calibration", "Expected calibration error", rows, lowest_of=names)


def _expected(first: Mapping[str, Any], second: Mapping[str, Any]) -> Table:
    rows = [
        {
            "data": name,
            **dict(zip(("expected", "low", "high"), cell["expected"], strict=True)),
            "true": cell["errors"][0] / 100,
            "inside": _inside(cell),
        }
        for name, cell in (*first.items(), *second.items())
    ]
    return Table("expected", "The error that auto expects, its 90 % interval, and the true", rows)


def _inside(cell: Mapping[str, Any]) -> bool:
    _, low, high = cell["expected"]
    return bool(low <= cell["errors"][0] / 100 <= high)


# What is claimed.


def _error_claims(errors: Sequence[Mapping[str, Any]], which: str) -> list[Claim]:
    *rows, mean = errors
    ours = [c for c in mean if not c.startswith("crowd-kit") and c not in ("data", "auto")]
    means = {c: mean[c] for c in ours if mean[c] is not None}
    best = min(means, key=lambda c: means[c])
    near = [
        row["data"]
        for row in rows
        if row["auto"] <= min(row[c] for c in ours if row[c] is not None) + NEAR + 1e-9
    ]
    return [
        Claim(
            f"On {which} auto's mean error is below that of every single method.",
            mean["auto"] < means[best],
            f"{mean['auto']:.2f} % against {means[best]:.2f} % of {best}",
        ),
        Claim(
            f"On eleven in fourteen of {which} auto is within {NEAR} points of the best method.",
            len(near) * 14 >= 11 * len(rows),
            f"on {len(near)} of {len(rows)}",
        ),
    ]


def _vote_claims(cells: Mapping[str, Any]) -> list[Claim]:
    """With the first seed, which is the default, and with any."""
    behind = {
        (name, seed): error - cell["vote"]
        for name, cell in cells.items()
        for seed, error in zip(SEEDS, cell["errors"], strict=True)
    }
    text = f"Auto is never more than {MOST_BELOW_VOTE} points worse than the vote"
    by_default = {case: points for case, points in behind.items() if case[1] == SEEDS[0]}
    return [
        _vote_claim(f"{text}.", by_default, len(cells)),
        _vote_claim(f"{text}, whatever the seed.", behind, len(cells)),
    ]


def _vote_claim(text: str, behind: Mapping[tuple[str, int], float], n_sets: int) -> Claim:
    name, seed = worst = max(behind, key=lambda case: behind[case])
    sets = {name for (name, _), points in behind.items() if points > MOST_BELOW_VOTE + 1e-9}
    detail = f"at worst {behind[worst]:+.2f} points, on {name} with seed {seed}"
    return Claim(text, not sets, f"it is on {len(sets)} of {n_sets} sets; {detail}")


def _trust_claims(cells: Mapping[str, Any]) -> list[Claim]:
    auto, dawid_skene = (
        float(np.mean([cell["calibration"][c] for cell in cells.values()]))
        for c in ("auto", "dawid-skene")
    )
    inside = sum(map(_inside, cells.values()))
    return [
        Claim(
            "Auto's calibration error is at most 0.6 of Dawid-Skene's.",
            auto <= 0.6 * dawid_skene,
            f"{auto:.3f} against {dawid_skene:.3f}",
        ),
        Claim(
            "The 90 % interval of the expected error holds the true one on nine sets in fourteen.",
            inside * 14 >= 9 * len(cells),
            f"on {inside} of {len(cells)}",
        ),
    ]
