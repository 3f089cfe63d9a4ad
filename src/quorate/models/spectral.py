"""Spectral methods meet EM: Dawid-Skene from confusion matrices found by moments.

Y. Zhang, X. Chen, D. Zhou and M. I. Jordan, "Spectral Methods Meet EM: A Provably Optimal Algorithm
for Crowdsourcing" (NIPS 2014). The paper's Opt-D&S: Algorithm 1 (in `moments.py`), then EM (its
Eqs. 4 and 5) with even class shares and zeros skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from quorate.model import Method
from quorate.models.dawid_skene import SoftDawidSkene
from quorate.models.em import ZEROS
from quorate.models.moments import FLOOR, GROUPS, ITERATIONS, RESTARTS, Groups, Spectral
from quorate.options import option


@dataclass(frozen=True, eq=False)
class SpectralEM(SoftDawidSkene):
    """Dawid-Skene that begins from the moments of three groups of workers.

    Examples:
        >>> import numpy as np
        >>> import quorate
        >>> confusion = np.full((9, 2, 2), [[0.8, 0.2], [0.3, 0.7]])
        >>> crowd = quorate.simulate(confusion, 200, 6, seed=1)
        >>> quorate.fit(quorate.SpectralEM(), crowd.labels).converged
        True
    """

    groups: Groups = option("random", GROUPS)
    floor: float = option(1e-6, FLOOR, at_least=1e-12)
    restarts: int = option(50, RESTARTS, at_least=1)
    iterations: int = option(50, ITERATIONS, at_least=1)
    zeros: Literal["exclude", "skip"] = option("skip", ZEROS)
    prior: Any = option("uniform", "Class shares: uniform, estimated, or given.")

    @property
    def init(self) -> Spectral:
        return Spectral(self.groups, self.floor, self.restarts, self.iterations)


METHODS = (
    Method(
        "spectral",
        SpectralEM,
        "Dawid-Skene from confusion matrices found by moments, with even classes.",
        "Zhang, Chen, Zhou and Jordan, Spectral Methods Meet EM: A Provably Optimal Algorithm for"
        " Crowdsourcing (2014)",
    ),
)
