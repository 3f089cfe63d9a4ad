"""A panel of judges: how many opinions it is, who adds to it, and what a cheaper one would lose."""

from quorate.judging.judges import Panel, Paneling, panel

__all__ = ["Panel", "Paneling", "panel"]
