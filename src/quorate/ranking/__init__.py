"""Rankings from comparisons of pairs."""

from quorate.ranking.ranking import Ranking, rank

__all__ = ["Ranking", "rank"]
