"""The votes of one project as an `Online` keeps them: the second implementation of `VoteStore`."""

from __future__ import annotations

import json
import warnings
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Table, Text, cast, delete, func, select, text

from quorate.errors import DataError
from quorate.online.checkpoints import thinned
from quorate.online.ledger import Checkpoint
from quorate.online.store import (
    NOTHING,
    UNREADABLE,
    Content,
    Event,
    NumberedNames,
    Seen,
    packed,
    unpacked,
)
from quorate.service.store import tables
from quorate.service.store.database import Changes, Store

ROWS_AT_A_TIME = 250_000
ROLES = tuple(tables.NAMED)
# One statement, however many are asked for: for SQLite, and for PostgreSQL, which goes through all
# rows of a project when it is asked for any of many; so each is looked up for itself.
AMONG = (
    "SELECT {0} FROM {1} WHERE project = :project AND {2} IN (SELECT value FROM json_each(:of)){4}"
)
EACH = (
    "SELECT found.* FROM unnest(CAST(:of AS {3}[])) AS asked(it) CROSS JOIN LATERAL"
    " (SELECT {0} FROM {1} WHERE project = :project AND {2} = asked.it{4} LIMIT 1) AS found"
)
SHORT = " AND coalesce(length(payload), 0) <= :longest"
RECEIPTS, PAYLOADS = (
    [text(sql.format(*what)) for sql in (AMONG, EACH)]
    for what in (
        ("key, vote, size, digest", "receipts", "key", "text", ""),
        ("id, payload", "tasks", "id", "bigint", SHORT),
    )
)


class ProjectVotes:
    """Of one project. Who leads feeds an `Online` what it writes itself, and so is never behind;
    others ask whether anything has `changed`."""

    def __init__(self, store: Store, project: int, *, read_only: bool = False) -> None:
        self.store, self.project = store, project
        self.read_only = read_only
        self.notes: list[str] = []
        self._version: Any = None

    @property
    def place(self) -> str:
        """The database."""
        return self.store.place

    def settings(self) -> dict[str, Any]:
        """What the project was made with."""
        query = select(tables.projects.c.settings).where(tables.projects.c.id == self.project)
        found = self.store.read(lambda connection: connection.execute(query).scalar_one())
        return dict(json.loads(found))

    # Writing.

    def add_vote(
        self, vote: tuple[int, int, int, int], names: Mapping[str, Sequence[tuple[int, Any]]]
    ) -> None:
        """A vote (id, task, worker, label), and the names that came with it."""
        self.add(names, [vote])

    def add(self, names: NumberedNames, votes: Sequence[Sequence[int]] | NDArray[np.int64]) -> None:
        """New names, and votes of ids: (id, task, worker, label), or columns of them."""
        changes = Changes()
        self.put_names(changes, names)
        rows = votes.T.tolist() if isinstance(votes, np.ndarray) else votes
        self.put_votes(changes, rows, [(rows[0][0], len(rows))] if len(rows) else [])
        self.store.write(changes)

    def remove(self, number: int, vote: int) -> None:
        """Take a vote back; checkpoints from it on are of another history."""
        changes = Changes()
        self.put_removed(changes, number, [vote])
        self.store.write(changes)

    def settle(self, number: int, after: int) -> None:
        """A settling, after a vote."""
        changes = Changes()
        changes.add(tables.settlings, [(self.project, number, after)])
        self.store.write(changes)

    def add_gold(self, names: NumberedNames, first: int, event: Event, settling: int) -> None:
        """New names, and known answers, whose ids begin with `first`."""
        changes = Changes()
        self.put_names(changes, names)
        self.put_gold(changes, first, event, settling)
        self.store.write(changes)

    def put_answers(self, rows: Iterable[tuple[int, int, float]], about: Mapping[str, str]) -> None:
        """Nothing: whoever wants the answers asks the server."""

    def put_checkpoint(self, vote: int, settling: int, checkpoint: Checkpoint) -> None:
        """Keep one, and those before it as far as they are of use."""
        self.store.write(self.checkpoint_changes(vote, settling, packed(checkpoint)))

    def put_names(self, changes: Changes, names: NumberedNames) -> None:
        """Names, of which nothing else is known."""
        for role, some in names.items():
            table = tables.NAMED[role]
            empty = _defaults(table)
            changes.add(table, ((self.project, id, name, *empty) for id, name in some))

    def put_votes(
        self,
        changes: Changes,
        votes: Iterable[Sequence[int]],
        steps: Iterable[tuple[int, int]],
    ) -> None:
        """Rows of (id, task, worker, label), and of those that are counted together the first, and
        how many they are."""
        changes.add(tables.votes, [(self.project, *vote) for vote in votes])
        changes.add(tables.batches, [(self.project, *step) for step in steps if step[1] > 1])

    def put_removed(self, changes: Changes, number: int, votes: Sequence[int]) -> None:
        """Votes that are taken back, numbered from `number` on."""
        if not votes:
            return
        rows = ((self.project, id, vote) for id, vote in enumerate(votes, start=number))
        changes.add(tables.removed, rows)
        of = tables.checkpoints.c
        changes.run(
            delete(tables.checkpoints).where(of.project == self.project, of.vote >= min(votes))
        )

    def put_gold(self, changes: Changes, first: int, event: Event, settling: int) -> None:
        """Known answers that are given together."""
        rows = [
            (self.project, id, task, label, first, event.after, settling)
            for id, (task, label) in enumerate(event.gold, start=first)
        ]
        changes.add(tables.gold, rows)

    def checkpoint_changes(self, vote: int, settling: int, state: bytes) -> Changes:
        """What keeps a checkpoint that is packed already."""
        of, changes = tables.checkpoints.c, Changes()
        query = select(of.vote, of.settling).where(of.project == self.project)
        there = {tuple(row) for row in self.store.read(lambda c: c.execute(query).all())}
        places = sorted(there | {(vote, settling)}, reverse=True)
        gone = [place for place in thinned(places) if place in there]
        for place in {(vote, settling), *gone}:
            these = (of.project == self.project, of.vote == place[0], of.settling == place[1])
            changes.run(delete(tables.checkpoints).where(*these))
        row = {"project": self.project, "vote": vote, "settling": settling, "state": state}
        changes.run(tables.checkpoints.insert(), {**row, "checksum": zlib.crc32(state)})
        return changes

    # Reading.

    def receipts(self, keys: Sequence[str]) -> Sequence[Sequence[Any]]:
        """What was answered under these keys: (key, vote, size, digest)."""
        return self._rows_of(RECEIPTS, keys)

    def payloads(self, tasks: Sequence[int], longest: int = 2**31 - 1) -> dict[int, str | None]:
        """What workers are shown of these tasks, in JSON, unless it has too many characters."""
        rows = self._rows_of(PAYLOADS, tasks, longest=longest)
        return {row[0]: row[1] for row in rows}

    def _rows_of(
        self, queries: Sequence[Any], these: Sequence[Any], **more: Any
    ) -> Sequence[Sequence[Any]]:
        asked = list(these) if self.store.is_postgresql else json.dumps(these)
        query, given = queries[self.store.is_postgresql], {"project": self.project, "of": asked}
        given |= more
        return self.store.read(lambda connection: connection.execute(query, given).all())

    def changed(self) -> bool:
        """Whether another server has written since this was last asked; who leads knows."""
        if self.store.leads:
            return False
        before = self._version
        self._version = self.store.read(self._now)
        return bool(self._version != before)

    def _now(self, connection: Connection) -> Any:
        appended = (*tables.NAMED.values(), tables.votes, tables.removed, tables.settlings)
        last = [
            select(func.max(table.c.id)).where(table.c.project == self.project).scalar_subquery()
            for table in (*appended, tables.gold)
        ]
        return tuple(connection.execute(select(*last)).one())

    def roll_back(self) -> None:
        """Nothing is ever left open."""

    def read(self, names: Mapping[str, int], seen: Seen) -> Content:
        """What came after so many names of each role and after what was seen already."""
        with self.store.reading() as connection:
            votes = self._votes(connection, seen.vote)
            return Content(
                {role: self._names(connection, role, n) for role, n in names.items()},
                votes,
                self._batch_of(connection, votes),
                self._numbers(connection, tables.removed, "vote", seen.removed),
                self._events(connection, seen),
            )

    def _names(self, connection: Connection, role: str, n: int) -> list[Any]:
        of = tables.NAMED[role].c
        query = select(of.id, of.name).where(of.project == self.project, of.id >= n).order_by(of.id)
        rows = connection.execute(query).all()
        if rows and (rows[0][0], rows[-1][0]) != (n, n + len(rows) - 1):
            raise self._damaged(f"in the numbers of {role}s")
        return [name for _, name in rows]

    def _votes(self, connection: Connection, after: int) -> NDArray[np.int64]:
        of = tables.votes.c
        last = connection.execute(select(func.max(of.id)).where(of.project == self.project))
        end = last.scalar() or 0
        starts = range(after, end, ROWS_AT_A_TIME)
        parts = [self._some_votes(connection, s, min(s + ROWS_AT_A_TIME, end)) for s in starts]
        return np.concatenate([NOTHING.votes, *parts])

    def _some_votes(self, connection: Connection, after: int, last: int) -> NDArray[np.int64]:
        """Columns as text, which is several times quicker than row by row."""
        of = tables.votes.c
        these = (of.project == self.project, of.id > after, of.id <= last)
        rows = select(of.id, of.task, of.worker, of.label).where(*these).order_by(of.id).subquery()
        texts = connection.execute(
            select(*(func.aggregate_strings(cast(c, Text), ",") for c in rows.c))
        ).one()
        try:
            with warnings.catch_warnings(action="error"):
                columns = [np.fromstring(str(text), np.int64, sep=",") for text in texts]
            votes = np.stack(columns, axis=1)
        except (ValueError, DeprecationWarning):
            raise self._damaged(f"after vote {after:,}") from None
        if not np.array_equal(votes[:, 0], np.arange(after + 1, last + 1)):
            raise self._damaged(f"in the numbers of votes after {after:,}")
        return votes

    def _batch_of(self, connection: Connection, votes: NDArray[np.int64]) -> NDArray[np.int64]:
        batch = votes[:, 0].copy()
        if not len(batch):
            return batch
        first, of = int(batch[0]), tables.batches.c
        query = select(of.id, of.size).where(of.project == self.project, of.id >= first)
        for id, size in connection.execute(query):
            batch[id - first : id - first + size] = id
        return batch

    def _events(self, connection: Connection, seen: Seen) -> list[Event]:
        """Settlings and known answers in the order in which they came."""
        settled = self._numbers(connection, tables.settlings, "after", seen.settlings)
        found = [(seen.settlings + i, 0, Event(after)) for i, after in enumerate(settled, start=1)]
        of = tables.gold.c
        columns = (of.id, of.task, of.label, of.together, of.vote, of.settling)
        these = (of.project == self.project, of.id > seen.gold)
        rows = connection.execute(select(*columns).where(*these).order_by(of.id)).all()
        for (first, settling), some in groupby(rows, key=itemgetter(3, 5)):
            together = list(some)
            answers = tuple((task, label) for _, task, label, *_ in together)
            found.append((settling, first, Event(together[0][4], answers)))
        return [event for _, _, event in sorted(found, key=itemgetter(0, 1))]

    def _numbers(self, connection: Connection, table: Table, column: str, n: int) -> list[int]:
        of = table.c
        query = select(of.id, of[column]).where(of.project == self.project, of.id > n)
        rows = connection.execute(query.order_by(of.id)).all()
        if [id for id, _ in rows] != list(range(n + 1, n + 1 + len(rows))):
            raise self._damaged(f"in the numbers of {table.name}")
        return [number for _, number in rows]

    def checkpoint(self, vote: int, settling: int) -> Checkpoint | None:
        """The latest that is whole, not after that vote and settling."""
        of = tables.checkpoints.c
        these = (of.project == self.project, of.vote <= vote, of.settling <= settling)
        query = select(of.state, of.checksum).where(*these)
        latest = query.order_by(of.vote.desc(), of.settling.desc()).limit(3)
        for state, checksum in self.store.read(lambda c: c.execute(latest).all()):
            if zlib.crc32(state) == checksum:
                with suppress(*UNREADABLE):
                    return unpacked(bytes(state))
        return None

    def _damaged(self, where: str) -> DataError:
        return DataError(f"{self.place} is damaged {where}: restore it from a backup.")

    def close(self) -> None:
        """Nothing: the store is the server's."""


def _defaults(table: Table) -> tuple[Any, ...]:
    """What a row says that has a name only."""
    known = {"priority": 0.0, "closed": False, "paused": False}
    return tuple(known.get(column.name) for column in list(table.columns)[3:])
