"""Auto against every method: error, calibration, expected error; and what would have been chosen
had the set it is scored on not been there.

Which models are mixed, the last temperature, and how far the expected error may be off were chosen
by looking at public sets. So each is chosen again from all sets but one, and scored on that one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from reproductions.experiment import Cell, Claim, Plan, Report, Table
from reproductions.fitting import (
    calibration_error,
    expected_error,
    fitted,
    mixture_weights,
    tempered,
)
from reproductions.remarks import Remarks
from reproductions.scoring import known, percent_wrong

REMARKS = Remarks.beside(__file__)

POOL = ("majority", "dawid-skene", "fast-dawid-skene", "ibcc", "mace", "iwmv")
MOST_MIXED = 3
TEMPERATURES = tuple(t / 10 for t in range(10, 21))
SPLITS = range(3)  # seeds of which votes are held out, over which a calibration error is averaged
MOST_BELOW_VOTE, NEAR = 0.7, 1.5  # points


def cells(plan: Plan, sets: Sequence[str], cost: float = 0.5) -> list[Cell]:
    return [Cell(f"auto/{name}", auto_on, {"name": name}, cost) for name in sets]


def auto_on(plan: Plan, name: str) -> dict[str, Any]:
    votes = known(name, plan.directory)
    truth, labels = votes.truth, votes.labels
    posteriors = {method: fitted(method, labels).posterior for method in POOL}
    mixtures = {
        " + ".join(some): percent_wrong(
            np.mean([posteriors[method] for method in some], axis=0), truth
        )
        for n in range(1, MOST_MIXED + 1)
        for some in combinations(POOL, n)
    }
    splits = [fitted("auto", labels, seed=seed) for seed in SPLITS]
    mixed = [tempered(split.posterior, 1 / split.params.temperature) for split in splits]
    auto = splits[0]
    dawid_skene = posteriors["dawid-skene"]
    return {
        "mixtures": mixtures,
        "calibration": {
            "dawid-skene": calibration_error(dawid_skene, truth),
            "mace": calibration_error(posteriors["mace"], truth),
            "auto": calibration_error(auto.posterior, truth),
        },
        "by_temperature": {
            str(t): float(np.mean([calibration_error(tempered(m, t), truth) for m in mixed]))
            for t in TEMPERATURES
        },
        "tasks": labels.n_tasks,
        "confidence": float(auto.confidence.sum()),
        "expected": list(auto.expected_error),
        "error": percent_wrong(auto.posterior, truth) / 100,
        "weights": mixture_weights(auto),
        "differ": auto.stats.differ,
    }


def report(found: Mapping[str, Any], errors: Sequence[Mapping[str, Any]]) -> Report:
    """`errors` are the rows of all methods' errors, the last their means."""
    sets = [row["data"] for row in errors[:-1] if f"auto/{row['data']}" in found]
    cells = {name: found[f"auto/{name}"] for name in sets}
    if not sets:
        return Report()
    left_out = _left_out(cells)
    return Report(
        tables=[_weights(cells), _calibration(cells), _expected(cells), left_out],
        claims=[*_error_claims(errors), *_other_claims(cells), *_left_out_claims(left_out, errors)],
        remarks=[
            REMARKS.fill(
                "What auto was set by", pool=", ".join(POOL), most_below_vote=MOST_BELOW_VOTE
            )
        ],
    )


def _weights(cells: Mapping[str, Any]) -> Table:
    rows = [
        {"data": name, **cell["weights"], "tasks": cell["tasks"], "they differ on": cell["differ"]}
        for name, cell in cells.items()
    ]
    decimals = {"tasks": 0, "they differ on": 0}
    return Table("weights", "The weights that auto gives", rows, decimals)


def _calibration(cells: Mapping[str, Any]) -> Table:
    rows = [{"data": name, **cell["calibration"]} for name, cell in cells.items()]
    names = list(rows[0])[1:]
    rows.append({"data": "mean", **{c: float(np.mean([r[c] for r in rows])) for c in names}})
    return Table("calibration", "Expected calibration error", rows, lowest_of=names)


def _expected(cells: Mapping[str, Any]) -> Table:
    rows = [
        {
            "data": name,
            **dict(zip(("expected", "low", "high"), cell["expected"], strict=True)),
            "true": cell["error"],
            "inside": _inside(cell["expected"], cell["error"]),
        }
        for name, cell in cells.items()
    ]
    return Table("expected", "The error that auto expects, its 90 % interval, and the true", rows)


def _inside(expected: Sequence[float], error: float) -> bool:
    return bool(expected[1] <= error <= expected[2])


def _left_out(cells: Mapping[str, Any]) -> Table:
    rows = []
    for name, cell in cells.items():
        others = [other for key, other in cells.items() if key != name]
        if not others:
            continue
        mixture, temperature = _best_mixture(others), _best_temperature(others)
        with_vote = _best_mixture(others, "majority")
        expected = expected_error(cell["tasks"], cell["confidence"], _off_by(others))
        rows.append(
            {
                "left out": name,
                "models": mixture,
                "their error": cell["mixtures"][mixture],
                "models with the vote": with_vote,
                "error with it": cell["mixtures"][with_vote],
                "the vote's": cell["mixtures"]["majority"],
                "temperature": float(temperature),
                "calibration error": cell["by_temperature"][temperature],
                "off by": _off_by(others),
                "inside": _inside(expected, cell["error"]),
            }
        )
    title = "Chosen from the other sets, and scored on the one that is left out"
    errors = ("their error", "error with it", "the vote's")
    return Table("left-out", title, rows, {**dict.fromkeys(errors, 1), "temperature": 2})


def _best_mixture(cells: Sequence[Mapping[str, Any]], holding: str = "") -> str:
    errors = [cell["mixtures"] for cell in cells]
    safe: list[str] = [
        mixture
        for mixture in errors[0]
        if mixture.startswith(holding)
        and all(e[mixture] <= e["majority"] + MOST_BELOW_VOTE for e in errors)
    ]
    return min(safe, key=lambda mixture: float(np.mean([e[mixture] for e in errors])))


def _best_temperature(cells: Sequence[Mapping[str, Any]]) -> str:
    return min(
        map(str, TEMPERATURES),
        key=lambda t: float(np.mean([cell["by_temperature"][t] for cell in cells])),
    )


def _off_by(cells: Sequence[Mapping[str, Any]]) -> float:
    """The root mean square of the distance of the log-odds."""

    def log_odds(share: float, tasks: int) -> float:
        share = (share * tasks + 0.5) / (tasks + 1)
        return float(np.log(share / (1 - share)))

    apart = [
        log_odds(cell["error"], cell["tasks"]) - log_odds(cell["expected"][0], cell["tasks"])
        for cell in cells
    ]
    return float(np.sqrt(np.mean(np.square(apart))))


def _error_claims(errors: Sequence[Mapping[str, Any]]) -> list[Claim]:
    *rows, mean = errors
    ours = [c for c in mean if not c.startswith("crowd-kit") and c not in ("data", "auto")]
    means = {c: mean[c] for c in ours if mean[c] is not None}
    best = min(means, key=lambda c: means[c])
    behind = {row["data"]: row["auto"] - row["majority"] for row in rows}
    worst = max(behind, key=lambda name: behind[name])
    near = [
        row["data"]
        for row in rows
        if row["auto"] <= min(row[c] for c in ours if row[c] is not None) + NEAR + 1e-9
    ]
    return [
        Claim(
            "Auto's mean error is below that of every single method.",
            mean["auto"] < means[best],
            f"{mean['auto']:.2f} % against {means[best]:.2f} % of {best}",
        ),
        Claim(
            f"Auto is never more than {MOST_BELOW_VOTE} points worse than the vote.",
            behind[worst] <= MOST_BELOW_VOTE + 1e-9,
            f"at worst {behind[worst]:+.2f} points, on {worst}",
        ),
        Claim(
            f"On eleven sets in fourteen auto is within {NEAR} points of the set's best method.",
            len(near) * 14 >= 11 * len(rows),
            f"on {len(near)} of {len(rows)}",
        ),
    ]


def _other_claims(cells: Mapping[str, Any]) -> list[Claim]:
    auto, dawid_skene = (
        float(np.mean([cell["calibration"][c] for cell in cells.values()]))
        for c in ("auto", "dawid-skene")
    )
    inside = sum(_inside(cell["expected"], cell["error"]) for cell in cells.values())
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


def _left_out_claims(left_out: Table, errors: Sequence[Mapping[str, Any]]) -> list[Claim]:
    if not left_out.rows:
        return []
    means = [v for c, v in errors[-1].items() if isinstance(v, float) and c != "auto"]
    rows = left_out.rows
    return [
        Claim(
            f"{who} chosen from the other sets err less on average than every single method.",
            float(np.mean([row[column] for row in rows])) < min(means),
            f"{np.mean([row[column] for row in rows]):.2f} % against {min(means):.2f} %",
        )
        for who, column in (("Models", "their error"), ("Models with the vote", "error with it"))
    ]
