"""Consensus scores from numeric ratings."""

from quorate.scoring.scores import Scores, scores

__all__ = ["Scores", "scores"]
