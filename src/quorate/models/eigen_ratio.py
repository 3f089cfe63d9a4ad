"""EigenRatio: between two classes, votes weighted by skills from a ratio of eigenvectors.

N. Dalvi, A. Dasgupta, R. Kumar and V. Rastogi, "Aggregating Crowdsourced Binary Ratings" (WWW
2013). Of the tasks that two workers share, ``N[i, j]``, they agree on so many more than not,
``G[i, j]``, as the product of their skills says, ``N[i, j] * s[i] * s[j]``, where a skill is by how
much a worker is more often right than wrong. Both matrices are sparse, and sums over tasks. Who
shared tasks with whom is in the way of the skills, and both algorithms divide it out by the vector
of what would be seen if all were perfect:

- *ratio of eigenvectors*: the leading eigenvector of G over that of N, entry by entry;
- *eigenvectors of ratio*: that of ``G / N`` (where N is not zero) over that of ``N > 0``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.model import Method
from quorate.models.spectral_vote import SpectralVote, leading_eigenvectors, signs, vote_matrix
from quorate.options import option


class Pairs(NamedTuple):
    """For each two workers, how many tasks they share, and on how many more they agree than not."""

    together: csr_array
    agreement: csr_array


@dataclass(frozen=True, eq=False)
class EigenRatio(SpectralVote):
    """A vote in which workers weigh what they are more often right than wrong; `objective` is the
    sum of the squared scores.

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> quorate.fit(quorate.EigenRatio(), labels).params.weight.round(2)
        array([1., 1., 0.])
    """

    variant: Literal["eigenvectors-of-ratio", "ratio-of-eigenvectors"] = option(
        "eigenvectors-of-ratio",
        "Which of the paper's algorithms: eigenvectors-of-ratio, that of the published figures, or"
        " ratio-of-eigenvectors.",
    )

    def gather(self, block: Labels) -> Pairs:
        votes = vote_matrix(block, signs(block))
        cast = vote_matrix(block, np.ones(block.n_labels))
        return Pairs(cast.T @ cast, votes.T @ votes)

    def weigh(self, moments: Pairs) -> tuple[Floats, float]:
        together, agreement = moments
        seen, if_perfect = agreement, together
        if self.variant == "eigenvectors-of-ratio":
            seen = csr_array(agreement.multiply(together.power(-1)))
            if_perfect = (together > 0).astype(np.float64)
        value, vector = leading_eigenvectors(seen, together)
        perfect_value, perfect_vector = leading_eigenvectors(if_perfect, together)
        silent = perfect_value == 0
        scale = np.sqrt(np.maximum(value, 0) / np.where(silent, 1, perfect_value))
        return scale * vector / perfect_vector, 0.0


METHODS = (
    Method(
        "eigen-ratio",
        EigenRatio,
        "Two classes: votes weighted by a ratio of eigenvectors.",
        "Dalvi, Dasgupta, Kumar and Rastogi, Aggregating Crowdsourced Binary Ratings (2013)",
    ),
)
