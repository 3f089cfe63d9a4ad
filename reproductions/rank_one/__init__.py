"""Table 1 and figures 2 and 3 of *Gradient Descent for Sparse Rank-One Matrix Completion*."""

from __future__ import annotations

from reproductions.experiment import Experiment, joined
from reproductions.rank_one import graphs, sparse, table

EXPERIMENT = Experiment(
    name="rank-one",
    title="Gradient descent for rank-one completion",
    paper="Ma, Olshevsky, Saligrama and Szepesvari, Gradient Descent for Sparse Rank-One Matrix"
    " Completion (2018)",
    summary="Skills from who agrees with whom against six others: four crowds, three graphs, and"
    " crowds made sparse.",
    data_sets=table.DATA_SETS,
    **joined((table, graphs, sparse)),
)
