"""A result as a dictionary, and that dictionary on a terminal."""

from quorate.report.summary import summarise
from quorate.report.terminal import show

__all__ = ["show", "summarise"]
