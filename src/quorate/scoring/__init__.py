"""Consensus scores from numeric ratings."""

from quorate.scoring.scoring import Scores, scores

__all__ = ["Scores", "scores"]
