"""How far to trust a result: intervals, expected errors, explanations, correlated workers."""

from quorate.trust.accuracies import MOST_VOTES as MOST_VOTES
from quorate.trust.accuracies import Spread as Spread
from quorate.trust.accuracies import accuracy_intervals as accuracy_intervals
from quorate.trust.decisions import Decision as Decision
from quorate.trust.decisions import decide as decide
from quorate.trust.decisions import error_of_the_decided as error_of_the_decided
from quorate.trust.decisions import n_decided as n_decided
from quorate.trust.matrices import Intervals as Intervals
from quorate.trust.matrices import confusion_intervals as confusion_intervals
from quorate.trust.recalibration import Check as Check
from quorate.trust.recalibration import ExpectedError as ExpectedError
from quorate.trust.recalibration import Share as Share
from quorate.trust.recalibration import Shift as Shift
from quorate.trust.recalibration import class_share_intervals as class_share_intervals
from quorate.trust.scale import Scale as Scale
from quorate.trust.scale import scale_of as scale_of
