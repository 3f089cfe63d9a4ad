"""What was found, drawn on a terminal from the dictionary that --json prints."""

from quorate.report.assignment import show_assignment
from quorate.report.comparison import show_comparison
from quorate.report.conversion import show_conversion
from quorate.report.crowd import show_crowd, show_play
from quorate.report.datasets import show_data_sets
from quorate.report.diagnosis import show_diagnosis
from quorate.report.estimate import show_estimate
from quorate.report.explanation import show_explanation, show_explanations
from quorate.report.methods import show_method, show_methods
from quorate.report.panel import show_panel
from quorate.report.ranking import show_ranking
from quorate.report.report import show_report, show_review
from quorate.report.scores import show_scores
from quorate.report.screen import screen
from quorate.report.summary import show_summary

__all__ = [
    "screen",
    "show_assignment",
    "show_comparison",
    "show_conversion",
    "show_crowd",
    "show_data_sets",
    "show_diagnosis",
    "show_estimate",
    "show_explanation",
    "show_explanations",
    "show_method",
    "show_methods",
    "show_panel",
    "show_play",
    "show_ranking",
    "show_report",
    "show_review",
    "show_scores",
    "show_summary",
]
