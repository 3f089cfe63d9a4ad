"""Centred SVD: between two classes, the leading singular vector of the votes, centred by column.

The matrix of signs ``[task, worker]`` (+1 for the second class, -1 for the first), less the mean of
each column (over all tasks, also those the worker did not label). It is what the column KOS of a
published table was made with: Y. Zhang, X. Chen, D. Zhou and M. I. Jordan, "Spectral Methods meet
EM" (2014), Table 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from quorate.kernels import Floats, Rows
from quorate.labels import Labels
from quorate.models.spectral_vote import SpectralVote, leading_eigenvector, signs, vote_matrix


class Columns(NamedTuple):
    """The Gram matrix of the signs, each worker's sum of signs, and the number of tasks."""

    gram: csr_array
    total: Floats | Rows
    tasks: int


@dataclass(frozen=True, eq=False)
class CentredSVD(SpectralVote):
    """The leading singular vector of the signs, centred by column: ``A - 1 m'``. Its workers' side
    is the eigenvector of ``A'A - n m m'``, and its tasks' side ``A v - m'v``."""

    def gather(self, block: Labels) -> Columns:
        votes = vote_matrix(block, signs(block))
        tasks = int((block.n_said > 0).sum())
        return Columns(votes.T @ votes, block.crowd.scatter(signs(block)), tasks)

    def weigh(self, moments: Columns) -> tuple[Floats, float]:
        assert isinstance(moments.total, np.ndarray)
        mean = moments.total / moments.tasks
        _, weight = leading_eigenvector(moments.gram, less=np.sqrt(moments.tasks) * mean)
        return weight, float(mean @ weight)
