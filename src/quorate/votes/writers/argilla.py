"""Argilla: records with suggestions, as `Dataset.records.from_json` reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from quorate.errors import UsageError
from quorate.votes.readers.opening import Opened
from quorate.votes.writers.writer import Outcome, Writer, records, require_some, write_array

KEPT = ("id", "fields", "metadata", "vectors")  # responses stay where they are


class Argilla(Writer):
    """The records of an export, each with a suggestion for every question that is answered."""

    name = "argilla"
    title = "Argilla"

    def write(
        self,
        outcomes: Mapping[str, Outcome],
        export: Sequence[Opened],
        file: BinaryIO,
        **options: Any,
    ) -> None:
        if "" in outcomes:
            raise UsageError("Argilla takes suggestions by question: name it with --question.")
        write_array(self._rows(outcomes, export), file)

    def _rows(
        self, outcomes: Mapping[str, Outcome], export: Sequence[Opened]
    ) -> Iterator[dict[str, Any]]:
        found = False
        for record in records(self, export, "id", "fields"):
            name = str(record["id"])
            if not any(name in outcome.answers for outcome in outcomes.values()):
                continue
            found = True
            before = record.get("suggestions")
            suggestions = {**before} if isinstance(before, Mapping) else {}
            for question, outcome in outcomes.items():
                answer = outcome.answer(name)
                if answer is not None:
                    suggestions[question] = {
                        "value": answer.label,
                        "score": answer.confidence,
                        "agent": outcome.agent,
                    }
            kept = {key: record[key] for key in KEPT if key in record}
            yield {**kept, "suggestions": suggestions}
        require_some(self, found, export, next(iter(outcomes.values())).answers)
