"""The queue of tasks that a person should look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from quorate.errors import UsageError, require_number
from quorate.multilabel import Multilabel
from quorate.report.views.survey import survey
from quorate.report.views.tasks import disputed_view
from quorate.result import Result


@dataclass(frozen=True, eq=False)
class Review:
    """Tasks to look at, the least certain first; `frame` has a row each, with an empty column
    `label` for the person's answer, and the columns that are kept of tasks."""

    rows: tuple[Mapping[str, Any], ...]
    of: int

    @property
    def frame(self) -> pl.DataFrame:
        kept = dict.fromkeys(name for row in self.rows for name in row["item"])
        return pl.DataFrame(
            {
                "task": [row["task"] for row in self.rows],
                "label": pl.Series([None] * len(self.rows), dtype=pl.String),
                **{name: [row["item"].get(name) for row in self.rows] for name in kept},
                "answer": [row["label"] for row in self.rows],
                "confidence": [row["confidence"] for row in self.rows],
                "runner_up": [row["runner_up"] for row in self.rows],
                "posterior": [_probabilities(row["posterior"]) for row in self.rows],
                "why": [row["why"] for row in self.rows],
                "settled_by": [row["settled_by"] for row in self.rows],
                "votes": [_in_words(row["said"]) for row in self.rows],
                "more_votes": [row["more_votes"] for row in self.rows],
            },
            strict=False,
        )

    def as_dict(self) -> dict[str, Any]:
        """What `quorate review --json` prints."""
        return {"tasks": list(self.rows), "shown": len(self.rows), "of": self.of}


def review(result: Result, n: int = 50) -> Review:
    """The `n` tasks whose answers are least certain, with their votes and what would settle
    them."""
    require_number("n", n, at_least=1)
    if isinstance(result, Multilabel):
        raise UsageError("A review is for one right answer: make one of an option's result.")
    counts = survey(result, np.zeros(0, dtype=np.int32), shown=n)
    view = disputed_view(counts, result, n)
    return Review(tuple(view["rows"]), view["of"])


def _probabilities(posterior: Iterable[Mapping[str, Any]]) -> str:
    """The most probable labels, such as "cat 0.512, dog 0.4"."""
    return ", ".join(f"{each['label']} {each['probability']:.3g}" for each in posterior)


def _in_words(said: Iterable[Mapping[str, Any]]) -> str:
    """Votes by label, such as "cat: ann, bob; dog: eve"."""
    by_label: dict[str, list[str]] = {}
    for vote in said:
        by_label.setdefault(str(vote["label"]), []).append(str(vote["worker"]))
    ordered = sorted(by_label.items(), key=lambda item: -len(item[1]))
    return "; ".join(f"{label}: {', '.join(workers)}" for label, workers in ordered)
