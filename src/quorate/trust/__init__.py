"""How far to trust a result: intervals, expected errors, explanations, correlated workers."""

from quorate.trust.accuracies import MOST_VOTES, Spread, accuracy_intervals
from quorate.trust.expected_error import ExpectedError
from quorate.trust.matrices import Intervals, confusion_intervals

__all__ = [
    "MOST_VOTES",
    "ExpectedError",
    "Intervals",
    "Spread",
    "accuracy_intervals",
    "confusion_intervals",
]
