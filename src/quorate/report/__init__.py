"""What was found as a dictionary, and that dictionary on a terminal."""

from quorate.report.assignment import show_assignment
from quorate.report.comparison import show_comparison
from quorate.report.crowd import show_crowd
from quorate.report.datasets import show_data_sets
from quorate.report.diagnosis import show_diagnosis
from quorate.report.explanation import show_explanation
from quorate.report.summary import summarise
from quorate.report.terminal import show

__all__ = [
    "show",
    "show_assignment",
    "show_comparison",
    "show_crowd",
    "show_data_sets",
    "show_diagnosis",
    "show_explanation",
    "summarise",
]
