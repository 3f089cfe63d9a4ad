"""Everything a report shows as one dictionary, of which the page and --json are made."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from quorate.diagnosis import Diagnosis, diagnose
from quorate.diagnosis.facts import Finding
from quorate.errors import UsageError
from quorate.kernels import Codes
from quorate.multilabel import Multilabel
from quorate.options import options_of
from quorate.report.views.classes import classes_view
from quorate.report.views.crowd import agreement_view, workers_view
from quorate.report.views.features import features_view
from quorate.report.views.gold import gold_view
from quorate.report.views.headline import headline
from quorate.report.views.kinds import kinds_of, kinds_view
from quorate.report.views.next import next_view
from quorate.report.views.panel import panel_view
from quorate.report.views.pseudonyms import under_pseudonyms
from quorate.report.views.repeats import repeats_view
from quorate.report.views.sentences import said_of
from quorate.report.views.speed import speed_view
from quorate.report.views.survey import survey
from quorate.report.views.tasks import disputed_view, overruled_view
from quorate.report.views.times import time_view, timed_votes
from quorate.result import Result
from quorate.summary import summarise

NAMED = 200  # workers of a finding
PAGES = 40  # workers with a page of their own, and in the matrix of agreement


@dataclass(frozen=True)
class ReportOptions:
    """What a report is called, whether workers' names are hidden, and how many tasks it lists."""

    title: str = "Report"
    pseudonyms: bool = False
    n_shown: int = 30


def report_of(result: Result, options: ReportOptions | None = None) -> dict[str, Any]:
    """The dictionary of a report."""
    options = options or ReportOptions()
    if isinstance(result, Multilabel):
        raise UsageError("A report is for one right answer: make one of an option's result.")
    if result.votes is None:
        raise UsageError("A result that was loaded does not have its votes: a report needs them.")
    diagnosis = diagnose(result, worker_kinds=kinds_of(result))
    report: dict[str, Any] = {
        "title": options.title,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        **summarise(result),
        "settings": settings_of(result),
        "findings": [_finding(finding) for finding in diagnosis.findings],
        **_views(result, diagnosis, options.n_shown),
    }
    report["read"]["labels_a_task"] = result.n_labels / max(result.overview.tasks, 1)
    report["headline"] = headline(report)
    return under_pseudonyms(report) if options.pseudonyms else report


def _finding(finding: Finding) -> dict[str, Any]:
    """A finding with the first of its workers, and how many they are."""
    found = finding.as_dict()
    names = found["workers"]
    return {**found, "workers": names[:NAMED], "shown": len(names[:NAMED]), "of": len(names)}


def _views(result: Result, diagnosis: Diagnosis, n_shown: int) -> dict[str, Any]:
    """The parts of the report by name, each with its sentences; None where the votes have none."""
    workers = _of_interest(result, diagnosis)
    counts = survey(result, workers, n_shown)
    timed = timed_votes(result)
    views = {
        "workers": workers_view(diagnosis, counts, result, workers),
        "disputed": disputed_view(counts, result, n_shown),
        "overruled": overruled_view(counts, result, n_shown),
        "classes": classes_view(counts, result),
        "agreement": agreement_view(diagnosis, counts, result, workers),
        "kinds": kinds_view(diagnosis, result),
        "panel": panel_view(result),
        "repeats": repeats_view(result),
        "gold": gold_view(result),
        "time": time_view(timed),
        "speed": speed_view(timed),
        "features": features_view(result),
        "next": next_view(result, diagnosis, counts),
    }
    return {name: said_of(name, view) for name, view in views.items()}


def _of_interest(result: Result, diagnosis: Diagnosis) -> Codes:
    """The codes of the workers who are flagged, and of those with most labels."""
    labels = result.tally.sum(axis=1)
    judged = diagnosis.judgement
    flagged = np.zeros(len(labels), bool) if judged is None else judged.spammer | judged.inverted
    return np.lexsort((-labels, ~flagged))[:PAGES].astype(np.int32)


def settings_of(result: Result) -> dict[str, Any]:
    """The options that the method was run with."""
    model: Any = getattr(result.model, "model", result.model)  # that a wrapper wraps
    plain = (str, int, float, bool, type(None))
    given = {name: getattr(model, name) for name in options_of(type(model))}  # type: ignore[arg-type]
    return {name: v if isinstance(v, plain) else str(v) for name, v in given.items()}


__all__ = ["ReportOptions", "report_of"]
