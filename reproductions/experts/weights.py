"""Real crowds, and features at one weight or another: beside a plain implementation, and with
features that were made independent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from quorate.kernels import Codes
from quorate.labels import Labels
from reproductions.experiment import Cell, Claim, Plan, Report, Table
from reproductions.experts.featured import REPORTS_SMOOTHING, described
from reproductions.fitting import fitted
from reproductions.remarks import Remarks
from reproductions.scoring import percent_wrong

REMARKS = Remarks.beside(__file__)

# Errors in percent, by the features' weight, of a plain implementation of the report's model.
PLAIN = {
    "labelme": {0.0: 28.2, 0.1: 18.4, 1.0: 28.7},
    "sp": {0.0: 8.42, 0.3: 8.10, 1.0: 8.80},
}
DECIMALS = {"labelme": 1, "sp": 2}
ITERATIONS = 30
STOPS, THIRTY, SHUFFLED = "ours", f"{ITERATIONS} iterations", "features shuffled"


def here(plan: Plan) -> list[str]:
    return [name for name in PLAIN if name in plan.here]


def cells(plan: Plan) -> list[Cell]:
    return [Cell(f"weights/{name}", errors_by_weight, {"name": name}) for name in here(plan)]


def errors_by_weight(plan: Plan, name: str) -> dict[str, list[float]]:
    """Errors with the report's smoothing: when EM stops by itself, after a fixed number of
    iterations, and when it stops on features that are shuffled."""
    votes = described(plan, name)
    independent = shuffled(votes.labels, votes.truth, np.random.default_rng(plan.seed))

    def wrong(labels: Labels, weight: float, **options: Any) -> float:
        settings = {"feature_weight": weight, "smoothing": REPORTS_SMOOTHING, **options}
        return percent_wrong(fitted("naive-bayes", labels, **settings).posterior, votes.truth)

    return {
        STOPS: [wrong(votes.labels, w) for w in PLAIN[name]],
        THIRTY: [wrong(votes.labels, w, max_iter=ITERATIONS, tol=0) for w in PLAIN[name]],
        SHUFFLED: [wrong(independent, w) for w in PLAIN[name]],
    }


def shuffled(labels: Labels, truth: Codes, random: np.random.Generator) -> Labels:
    """Labels with each feature shuffled among the tasks of a true class: its rates stay, and
    within a class it says nothing of another feature any more."""
    assert labels.features is not None
    features = labels.features.toarray()
    for which in np.unique(truth):
        tasks = truth == which
        features[tasks] = random.permuted(features[tasks], axis=0)
    return replace(labels, features=csr_array(features))


def report(plan: Plan, found: Mapping[str, Any]) -> Report:
    if not here(plan):
        return Report()
    rows = [
        {
            "data": name,
            "weight": weight,
            "plain": plain,
            **{what: errors[i] for what, errors in found[f"weights/{name}"].items()},
        }
        for name in here(plan)
        for i, (weight, plain) in enumerate(PLAIN[name].items())
    ]
    rows = [_with_difference(row) for row in rows]
    title = (
        "Error by the features' weight at the report's smoothing, percent, beside a plain"
        " implementation (the report itself prints none)"
    )
    return Report(
        tables=[Table("weights", title, rows, dict.fromkeys(rows[0], 2) | {"weight": 1})],
        claims=[_claim(name, found[f"weights/{name}"]) for name in here(plan)],
        remarks=[_remark(rows)],
    )


def _with_difference(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with the difference of ours from the plain implementation, behind ours."""
    shown = {}
    for column, value in row.items():
        shown[column] = value
        if column == STOPS:
            shown["difference"] = rounded(value - row["plain"], row["data"])
    return shown


def rounded(difference: float, name: str) -> float:
    """A difference to the digits of the plain implementation; never a negative zero."""
    return round(difference, DECIMALS[name]) + 0.0


def _claim(name: str, errors: Mapping[str, list[float]]) -> Claim:
    none, full = errors[SHUFFLED][0], errors[SHUFFLED][-1]
    return Claim(
        f"On {name} features at full weight would help, were they independent within each class.",
        full < none,
        f"{full:.2f} % at full weight when they are shuffled, {errors[STOPS][-1]:.2f} % as they"
        f" are, {none:.2f} % without any",
    )


def _remark(rows: list[dict[str, Any]]) -> str:
    same = [rounded(row[THIRTY] - row["plain"], row["data"]) == 0 for row in rows]
    shuffled = [f"{row[SHUFFLED]:.2f} % ({row['data']})" for row in rows if row["weight"] == 1]
    return REMARKS.fill(
        "A plain implementation",
        most=max(abs(row["difference"]) for row in rows),
        iterations=ITERATIONS,
        n_same=sum(same),
        n_figures=len(same),
        shuffled=" and ".join(shuffled),
    )
