"""Answers of the forms that workers fill in on Mechanical Turk and in Ground Truth."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


def answers(form: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Questions of a form and what was answered; None for what is no choice, such as boxes.

    Examples:
        >>> list(answers({"mood": {"label": "good"}, "why": {"sun": True, "rain": False}}))
        [('mood', 'good'), ('why', ['sun'])]
    """
    for question, answer in form.items():
        if not isinstance(answer, dict):
            yield question, answer
        elif "label" in answer:
            yield question, answer["label"]
        elif "labels" in answer:
            labels = answer["labels"]
            yield question, json.loads(labels) if isinstance(labels, str) else labels
        elif answer and all(isinstance(ticked, bool) for ticked in answer.values()):
            yield question, [option for option, ticked in answer.items() if ticked]
        else:
            yield question, None
