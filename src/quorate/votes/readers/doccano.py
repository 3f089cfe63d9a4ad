"""doccano: an archive with a file for each member of a project, and what older versions wrote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import PurePath
from typing import Any

from quorate.errors import DataError
from quorate.votes.readers.opening import Look, Opened
from quorate.votes.readers.reader import Dropped, Found, Reader, Vote

EVERYBODY = "all"  # the one file of a project in which all members share their labels
BETWEEN = "#"  # labels in one cell
Row = Mapping[str, Any]


class Doccano(Reader):
    """A task is an example, and the worker the member whose file it is."""

    name = "doccano"
    title = "doccano"
    signatures = (("Comments", "id", "label"), ("Comments", "id", "cats"))
    takes_archives = True

    def sniff(self, look: Look) -> bool:
        in_archive = look.shape == "zip" and any(_is_example(row) for row in look.first)
        return super().sniff(look) or in_archive or any(map(_is_old, look.first))

    def read(self, export: Opened) -> Iterator[Found]:
        files = list(export.members()) if export.look().shape == "zip" else [export]
        for file in files:
            if len(files) == 1 and PurePath(file.name).stem == EVERYBODY:
                raise DataError(
                    f"{export.origin} is of a project in which members share their labels, and"
                    " does not say who gave which: doccano can tell only of projects where"
                    " everybody labels alone."
                )
            for row in file.records():
                yield from _old(row) if _is_old(row) else [_vote(row, file)]


def _is_example(row: Row) -> bool:
    """Whether a row is an example of a version that does not export comments."""
    labels = isinstance(row.get("label"), list) or isinstance(row.get("cats"), list)
    return "id" in row and labels and any(key in row for key in ("text", "data", "filename"))


def _is_old(row: Row) -> bool:
    """Whether a row names its user, as those of old versions do."""
    if {"doc_id", "labels", "username"} <= row.keys():
        return True
    given = row.get("annotations")
    has_users = isinstance(given, list) and any(
        isinstance(one, dict) and {"label", "user"} <= one.keys() for one in given
    )
    return has_users and "text" in row


def _vote(row: Row, file: Opened) -> Found:
    labels = row.get("label", row.get("cats"))
    if isinstance(labels, str):
        labels = labels.split(BETWEEN)
    return _labelled(row["id"], PurePath(file.name).stem, labels, row)


def _labelled(task: Any, worker: Any, labels: Any, row: Row) -> Found:
    if not labels or labels == [""]:
        return Dropped("unlabelled")
    if any(isinstance(label, (dict, list)) for label in labels):
        return Dropped("spans and boxes")
    return Vote(task, worker, labels, item=row)


def _old(row: Row) -> Iterator[Found]:
    if "username" in row:
        yield _labelled(row["doc_id"], row["username"], row["labels"], row)
        return
    by_user = sorted(row["annotations"], key=lambda one: str(one["user"]))
    for user, given in groupby(by_user, key=itemgetter("user")):
        yield _labelled(row["id"], user, [one["label"] for one in given], row)
