"""Table 1 and figures 2 and 3 of *Gradient Descent for Sparse Rank-One Matrix Completion*."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quorate.bench import (
    rank_one_graph_claims,
    rank_one_graphs,
    rank_one_sparse,
    rank_one_table,
)
from quorate.bench.experiment import Cell, Experiment, Plan, Report


def cells(plan: Plan) -> list[Cell]:
    return [
        *rank_one_table.cells(plan),
        *rank_one_graphs.cells(plan),
        *rank_one_sparse.cells(plan),
    ]


def report(plan: Plan, found: Mapping[str, Any]) -> Report:
    table_1 = rank_one_table.gathered(plan, found)
    graphs = rank_one_graphs.gathered(plan, found)
    sparse = rank_one_sparse.gathered(plan, found)
    return Report(
        tables=[
            *rank_one_table.tables(table_1),
            *rank_one_graphs.tables(plan, graphs),
            *rank_one_sparse.tables(sparse),
        ],
        figures=[rank_one_graphs.figure(plan, graphs), *rank_one_sparse.figures(sparse)],
        claims=[
            *rank_one_table.claims(table_1),
            *rank_one_graph_claims.claims(plan, graphs),
            *rank_one_sparse.claims(sparse),
        ],
        remarks=[
            *rank_one_table.remarks(table_1),
            *rank_one_graph_claims.remarks(plan, graphs),
            *rank_one_sparse.remarks(sparse),
        ],
    )


EXPERIMENT = Experiment(
    name="rank-one",
    title="Gradient descent for rank-one completion",
    paper="Ma, Olshevsky, Saligrama and Szepesvari, Gradient Descent for Sparse Rank-One Matrix"
    " Completion (2018)",
    summary="Skills from who agrees with whom against six others: four crowds, three graphs, and"
    " crowds made sparse.",
    data_sets=rank_one_table.DATA_SETS,
    cells=cells,
    report=report,
)
