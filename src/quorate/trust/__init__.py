"""How far to trust a result: intervals, expected errors, explanations, correlated workers."""

from quorate.trust.accuracies import MOST_VOTES as MOST_VOTES
from quorate.trust.accuracies import Spread as Spread
from quorate.trust.accuracies import accuracy_intervals as accuracy_intervals
from quorate.trust.expected_error import ExpectedError as ExpectedError
from quorate.trust.matrices import Intervals as Intervals
from quorate.trust.matrices import confusion_intervals as confusion_intervals
