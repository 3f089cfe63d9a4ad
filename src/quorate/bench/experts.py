"""What *Multiple Experts with Binary Features* should show: parameters recovered, and fewer errors
with features than without, by how many experts there are and how good they are."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from quorate.bench import experts_crowds, experts_recovery, experts_simulated, experts_weights
from quorate.bench.experiment import Cell, Experiment, Plan, Report

PARTS = (experts_recovery, experts_simulated, experts_weights, experts_crowds)


def cells(plan: Plan) -> list[Cell]:
    return [cell for part in PARTS for cell in part.cells(plan)]


def report(plan: Plan, found: Mapping[str, Any]) -> Report:
    reports = [part.report(plan, found) for part in PARTS]
    return Report(
        *(
            list(chain.from_iterable(getattr(part, field) for part in reports))
            for field in ("tables", "figures", "claims", "remarks")
        )
    )


EXPERIMENT = Experiment(
    name="experts",
    title="Multiple experts with binary features",
    paper="Jin and Zhang, Multiple Experts with Binary Features (2010)",
    summary="Naive Bayes on features joined with experts' confusion matrices: whether its"
    " parameters are recovered, and what features are worth to few or many, weak or skilled"
    " experts.",
    data_sets=(*experts_simulated.DATA_SETS, *experts_crowds.DATA_SETS),
    cells=cells,
    report=report,
)
