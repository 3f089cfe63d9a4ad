"""What is true of all tasks, from votes and a few known answers."""

from quorate.estimation.estimation import Estimating, estimate
from quorate.estimation.facts import Difference, Estimate, Figure, PositionBias

__all__ = ["Difference", "Estimate", "Estimating", "Figure", "PositionBias", "estimate"]
