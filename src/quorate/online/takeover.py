"""Directories of versions that kept a log of their own: taken over once, and left as they are.

votes.log was a record after the other: the length and the CRC-32 of what follows, both
little-endian in four bytes, and JSON: ["add", vote, ...], ["remove", task, worker] or ["settle"].
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quorate.online.ledger import ROLES
from quorate.online.store import Content, Event

HEAD = struct.Struct("<II")
STARTS = (b'["add"', b'["remove"', b'["settle"')
FILES = {"start": "start.quorate", "votes of start": "start.parquet"}


def old_settings(directory: Path) -> dict[str, Any] | None:
    """What an old directory was made with; None if it is none."""
    if not (directory / "votes.log").exists():
        return None
    try:
        found = json.loads((directory / "settings.json").read_text(encoding="utf-8"))
        return {name: value for name, value in found.items() if name != "quorate"}
    except (OSError, ValueError, AttributeError):
        return {}


def old_files(directory: Path) -> dict[str, bytes]:
    """The fit that it began from, and that fit's votes, if any."""
    places = {name: directory / file for name, file in FILES.items()}
    return {name: place.read_bytes() for name, place in places.items() if place.exists()}


def old_votes(directory: Path, names: Mapping[str, Sequence[Any]]) -> tuple[Content, list[str]]:
    """What an old directory holds, in ids that begin with these names, and what to say of it. The
    names of the content are all."""
    taken = _Taken(names)
    lost = 0
    for what in records((directory / "votes.log").read_bytes()):
        if isinstance(what, int):
            lost += what
        else:
            taken.take(*what)
    notes = [f"{taken.n_votes:,} votes were taken over from {directory / 'votes.log'}."]
    if lost:
        notes.append(f"{lost:,} bytes of votes.log could not be read, and were left out.")
    return taken.content(), notes


def records(content: bytes) -> Iterator[list[Any] | int]:
    """The records; and for bytes that are none, how many they are."""
    place = lost = 0
    while place < len(content):
        record, length = _record(content, place)
        if record is not None:
            if lost:
                yield lost
            yield record
            place, lost = place + length, 0
            continue
        places = (content.find(start, place + HEAD.size + 1) for start in STARTS)
        after = min((p - HEAD.size for p in places if p >= 0), default=len(content))
        lost += after - place
        place = after
    if lost and content[-lost:].strip(b"\0"):
        yield lost


def _record(content: bytes, place: int) -> tuple[list[Any] | None, int]:
    if place + HEAD.size > len(content):
        return None, 0
    length, check = HEAD.unpack_from(content, place)
    body = content[place + HEAD.size : place + HEAD.size + length]
    if not length or len(body) < length or zlib.crc32(body) != check:
        return None, 0
    return json.loads(body.decode(errors="surrogatepass")), HEAD.size + length


class _Taken:
    def __init__(self, names: Mapping[str, Sequence[Any]]) -> None:
        self.ids = {role: {name: id for id, name in enumerate(names[role])} for role in ROLES}
        self.votes: list[tuple[int, ...]] = []
        self.batch: list[int] = []
        self.places: dict[tuple[int, int], list[int]] = {}
        self.removed: list[int] = []
        self.settlings: list[Event] = []

    @property
    def n_votes(self) -> int:
        return len(self.votes) - len(self.removed)

    def take(self, kind: str, *rest: Any) -> None:
        if kind == "settle":
            self.settlings.append(Event(len(self.votes)))
        elif kind == "remove":
            task, worker = map(self._id, ROLES, rest)
            if places := self.places.get((task, worker)):
                self.removed.append(places.pop())
        else:
            batch = len(self.votes) + 1
            for vote in rest:
                task, worker, label = map(self._id, ROLES, vote)
                self.votes.append((len(self.votes) + 1, task, worker, label))
                self.batch.append(batch)
                self.places.setdefault((task, worker), []).append(len(self.votes))

    def _id(self, role: str, name: Any) -> int:
        """A name that was a tuple has become a list, and stays as its text."""
        known = self.ids[role]
        name = json.dumps(name) if isinstance(name, list) else name
        if isinstance(name, str):
            name = name.encode(errors="replace").decode()
        return known.setdefault(name, len(known))

    def content(self) -> Content:
        votes = np.array(self.votes, dtype=np.int64).reshape(-1, 4)
        names = {role: list(ids) for role, ids in self.ids.items()}
        batch = np.array(self.batch, dtype=np.int64)
        return Content(names, votes, batch, self.removed, self.settlings)
