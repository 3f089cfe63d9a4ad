"""Ghosh-SVD: between two classes, the sign of the votes' leading singular vector.

A. Ghosh, S. Kale and P. McAfee, "Who Moderates the Moderators? Crowdsourcing Abuse Detection in
User-Generated Content" (EC 2011). With ``A[task, worker]`` +1 for a vote for the second class, -1
for the first and 0 for none, A has rank one but for noise when each worker is right with one
probability: a column of truths times a row of skills. The paper's A is full; where votes are
missing, a worker weighs more the more the worker voted.

The singular vector of the tasks is ``A @ v``, with v the leading eigenvector of ``A.T @ A``, which
is sparse, for only workers who share a task meet in it, and a sum over tasks.

Workers who are not joined by any chain of shared tasks are problems of their own, and each of these
components has its own vector. Its sign is that which makes the crowd better than chance: the
workers' entries add up to more than zero, which is to say that answers agree with the vote.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from scipy.sparse import csr_array

from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.model import Method
from quorate.models.spectral_vote import SpectralVote, leading_eigenvectors, signs, vote_matrix


class Gram(NamedTuple):
    """``A.T @ A``: for each two workers, on how many tasks they agree less those they do not."""

    gram: csr_array


@dataclass(frozen=True, eq=False)
class GhoshSVD(SpectralVote):
    """The sign of the leading singular vector of tasks by workers; `objective` is the sum of the
    components' squared singular values.

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> quorate.fit(quorate.GhoshSVD(), labels).answers
        array([0, 1], dtype=int32)
    """

    def gather(self, block: Labels) -> Gram:
        votes = vote_matrix(block, signs(block))
        return Gram(votes.T @ votes)

    def weigh(self, moments: Gram) -> tuple[Floats, float]:
        return leading_eigenvectors(moments.gram, moments.gram)[1], 0.0


METHODS = (
    Method(
        "ghosh-svd",
        GhoshSVD,
        "Two classes: the sign of the votes' leading singular vector.",
        "Ghosh, Kale and McAfee, Who Moderates the Moderators? Crowdsourcing Abuse Detection in"
        " User-Generated Content (2011)",
    ),
)
