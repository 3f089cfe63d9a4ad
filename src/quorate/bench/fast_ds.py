"""The tables and figures of *Fast Dawid-Skene*, each kind of experiment in a module of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quorate.bench import fast_ds_offline, fast_ds_several
from quorate.bench.experiment import Cell, Experiment, Plan, Report

# Each has `cells` and `report`, as an experiment has.
PARTS = (fast_ds_offline, fast_ds_several)


def cells(plan: Plan) -> list[Cell]:
    return [cell for part in PARTS for cell in part.cells(plan)]


def report(plan: Plan, found: Mapping[str, Any]) -> Report:
    reports = [part.report(plan, found) for part in PARTS]
    return Report(
        tables=[table for r in reports for table in r.tables],
        figures=[figure for r in reports for figure in r.figures],
        claims=[claim for r in reports for claim in r.claims],
        remarks=[remark for r in reports for remark in r.remarks],
    )


EXPERIMENT = Experiment(
    name="fast-ds",
    title="Fast Dawid-Skene",
    paper="Sinha, Rao and Balasubramanian, Fast Dawid-Skene (2018)",
    summary="Hard and hybrid EM against Dawid-Skene: speed, likelihood, accuracy by annotators.",
    data_sets=fast_ds_offline.ALL_LABELS,
    cells=cells,
    report=report,
)
