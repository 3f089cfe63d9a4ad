"""The seven methods that the rank-one paper compares, as they are run here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate.kernels import Codes, Floats
from quorate.labels import Labels
from reproductions.fitting import fitted, share_wrong

# Ten rounds of EM, and a KOS by singular vectors: as in the table that the paper takes them from.
TEN_ROUNDS: dict[str, Any] = {"max_iter": 10, "tol": 0}
CONTESTANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "PGD": ("rank-one", {"tol": 1e-6}),
    "MV": ("majority", {}),
    "Opt-D&S": ("spectral", TEN_ROUNDS),
    "KOS": ("kos", {"variant": "centred-svd"}),
    "ER": ("eigen-ratio", {}),
    "IWMV": ("iwmv", {}),
    "M3V": ("m3v", {}),
}
METHODS = tuple(CONTESTANTS)
# In figures those that are often far off come last, so that colours stay when they are left out.
FAR_OFF = ("KOS", "ER")
DRAWN = (*(m for m in METHODS if m not in FAR_OFF), *FAR_OFF)


def errors(labels: Labels, truth: Codes, methods: Sequence[str] = METHODS) -> dict[str, float]:
    """Each contestant's share of wrong answers, between two classes."""
    return {
        name: share_wrong(fitted(method, labels, **options).posterior, truth)
        for name, (method, options) in CONTESTANTS.items()
        if name in methods
    }


def mean_and_error(values: Sequence[float] | Floats) -> tuple[float, float]:
    """A mean and its standard error, of which one value tells nothing.

    Examples:
        >>> mean_and_error([1.0, 3.0])
        (2.0, 1.0)
    """
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return float(values.mean()), float("nan")
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
