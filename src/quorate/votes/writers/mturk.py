"""Mechanical Turk: the results of a batch with Approve and Reject filled, to be uploaded."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from quorate.errors import UsageError, require_probability
from quorate.votes.readers.opening import Opened
from quorate.votes.writers.writer import Outcome, Writer, only, records, require_some

REJECT_BELOW = 0.5  # accuracy
OPEN = ("Submitted", "")  # assignments that are neither approved nor rejected yet
APPROVE, REJECT = "Approve", "Reject"


class MTurk(Writer):
    """Every open assignment is approved, but for those of workers whose accuracy is below the
    threshold, even at the upper end of its interval: who has done little work is not rejected for
    bad luck."""

    name = "mturk"
    title = "Mechanical Turk"
    options = ("reject_below",)

    def write(
        self,
        outcomes: Mapping[str, Outcome],
        export: Sequence[Opened],
        file: BinaryIO,
        **options: Any,
    ) -> None:
        least = options.get("reject_below")
        least = REJECT_BELOW if least is None else float(least)
        require_probability("reject_below", least)
        workers = only(self, outcomes).workers()
        if "option" in workers.columns:
            raise UsageError("Workers are approved by one right answer: leave multilabel out.")
        why = _reasons(workers.to_dicts(), least)
        known = set(map(str, workers["worker"]))
        text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
        try:
            found = self._write(export, text, why, known)
        finally:
            text.detach()
        require_some(self, found, export, workers["worker"])

    def _write(
        self,
        export: Sequence[Opened],
        text: io.TextIOBase,
        why: Mapping[str, str],
        known: set[str],
    ) -> bool:
        """Write the rows again with both columns filled; whether one was of a known worker."""
        out: Any = None
        found = False
        for row in records(self, export, "WorkerId", "AssignmentId"):
            if out is None:
                names = dict.fromkeys([*row, APPROVE, REJECT])
                out = csv.DictWriter(text, names, quoting=csv.QUOTE_ALL, lineterminator="\n")
                out.writeheader()
            worker = str(row["WorkerId"])
            is_open = (row.get("AssignmentStatus") or "") in OPEN and worker in known
            found |= worker in known
            filled = {APPROVE: "" if worker in why else "x", REJECT: why.get(worker, "")}
            out.writerow({**row, **(filled if is_open else {})})
        return found


def _reasons(workers: Sequence[Mapping[str, Any]], least: float) -> dict[str, str]:
    """Why the assignments of some workers are rejected."""
    return {
        str(worker["worker"]): (
            f"Of your {worker['labels']:,} answers about {worker['accuracy']:.0%} are right, judged"
            f" by the answers of others to the same tasks (at most {worker['high']:.0%});"
            f" {least:.0%} were needed."
        )
        for worker in workers
        if worker["high"] < least
    }
