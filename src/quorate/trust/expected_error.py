"""The expected share of wrong answers, from the confidences of the answers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quorate.answers import Overview
from quorate.model import Calibration


class ExpectedError(NamedTuple):
    """The expected share of wrong answers, and its 90 % interval."""

    error: float
    low: float
    high: float

    @classmethod
    def of(cls, overview: Overview, calibration: Calibration) -> ExpectedError:
        """Expected error from the confidences, corrected by the method's calibration.

        On public data the log-odds of the confidences are off by a known amount, and the tasks are
        a sample.

        Examples:
            >>> overview = Overview(1000, np.array([600.0, 400.0]), 900.0, 0)
            >>> [round(share, 2) for share in ExpectedError.of(overview, Calibration(0.0, 0.5))]
            [0.1, 0.05, 0.21]
        """
        tasks = max(overview.tasks, 1)
        said = np.clip(1 - overview.confidence / tasks, 1e-9, 1 - 1e-9)
        share = (said * tasks + 0.5) / (tasks + 1)
        half = 1.644854 * np.sqrt(calibration.spread**2 + 1 / ((tasks + 1) * share * (1 - share)))
        odds = np.array([said, share, share]) / (1 - np.array([said, share, share]))
        odds *= np.exp(calibration.bias + half * np.array([0, -1, 1]))
        error, low, high = (odds / (1 + odds)).tolist()
        return cls(error, min(low, error), max(high, error))
