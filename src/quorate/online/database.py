"""The votes of an `Online` in a SQLite file: the truth, from which everything else can be made.

A vote is kept when its transaction is committed. Names, votes, removals, known answers and
settlings are only ever appended. Checkpoints of the state make opening quick, and can be done
without. SQLite does not check what it reads, so every row has a checksum.
"""

from __future__ import annotations

import json
import sqlite3
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from quorate.errors import DataError
from quorate.online import wal
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

APPLICATION = 0x51756F72
FORMAT = 2
WITHOUT_GOLD = 1  # the format that had no known answers
NAME = "votes.db"
LOCK = "votes.lock"
TABLES = {"task": "tasks", "worker": "workers", "label": "classes"}
PAGES_OF_WAL = 8_000
ROWS_AT_A_TIME, ROWS_PER_STATEMENT = 500_000, 64
# Odd, so that no change of one number leaves the sum as it was.
FACTORS = (2654435761, 2246822519, 3266489917, 668265263)
MORE_FACTORS = (*FACTORS, 374761393, 1640531527)
MASK = 2**32 - 1
INSERT_VOTE = "INSERT INTO votes VALUES (?, ?, ?, ?, ?)"
INSERT_VOTE_ON_NEW_TASK = "INSERT INTO votes_on_new_tasks VALUES (?, ?, ?, ?, ?, ?, ?)"

SCHEMA = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE tasks (id INTEGER PRIMARY KEY, name NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE workers (id INTEGER PRIMARY KEY, name NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE classes (id INTEGER PRIMARY KEY, name NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE votes (
  id INTEGER PRIMARY KEY,
  task INTEGER NOT NULL REFERENCES tasks,
  worker INTEGER NOT NULL REFERENCES workers,
  label INTEGER NOT NULL REFERENCES classes,
  checksum INTEGER NOT NULL
);
CREATE TABLE batches (                       -- votes that were added together
  id INTEGER PRIMARY KEY,                    -- the first of them
  size INTEGER NOT NULL,
  checksum INTEGER NOT NULL
);
CREATE TABLE removed (
  id INTEGER PRIMARY KEY, vote INTEGER NOT NULL REFERENCES votes, checksum INTEGER NOT NULL
);
CREATE TABLE settlings (
  id INTEGER PRIMARY KEY,
  after INTEGER NOT NULL,                    -- the last vote that came before
  checksum INTEGER NOT NULL
);
CREATE TABLE checkpoints (
  vote INTEGER NOT NULL,                     -- the last vote that is counted in it
  settling INTEGER NOT NULL,                 -- the last settling
  state BLOB NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (vote, settling)
);
CREATE TABLE answers (
  task INTEGER PRIMARY KEY REFERENCES tasks,
  label INTEGER NOT NULL REFERENCES classes,
  confidence REAL NOT NULL
);
CREATE VIEW votes_by_name AS
  SELECT votes.id, tasks.name AS task, workers.name AS worker, classes.name AS label,
    votes.id IN (SELECT vote FROM removed) AS removed
  FROM votes JOIN tasks ON tasks.id = votes.task JOIN workers ON workers.id = votes.worker
    JOIN classes ON classes.id = votes.label;
CREATE VIEW answers_by_name AS
  SELECT tasks.name AS task, classes.name AS label, answers.confidence
  FROM answers JOIN tasks ON tasks.id = answers.task JOIN classes ON classes.id = answers.label;
"""

GOLD_SCHEMA = """
CREATE TABLE gold (
  id INTEGER PRIMARY KEY,
  task INTEGER NOT NULL REFERENCES tasks,
  label INTEGER REFERENCES classes,          -- null: the answer is not known any more
  together INTEGER NOT NULL,                 -- the first row of the same call
  vote INTEGER NOT NULL,                     -- the last vote that came before
  settling INTEGER NOT NULL,                 -- the last settling before
  checksum INTEGER NOT NULL
);
CREATE VIEW gold_by_name AS
  SELECT tasks.name AS task, classes.name AS label
  FROM gold JOIN tasks ON tasks.id = gold.task JOIN classes ON classes.id = gold.label
  WHERE gold.id IN (SELECT max(id) FROM gold GROUP BY task);
"""

# Of this connection only: a vote and the name of its task by one statement, which is a transaction
# by itself and takes half the time of four.
SHORTCUT = """
CREATE TEMP VIEW votes_on_new_tasks AS
  SELECT 0 AS id, 0 AS task, 0 AS worker, 0 AS label, 0 AS checksum, 0 AS name, 0 AS name_checksum;
CREATE TEMP TRIGGER vote_on_new_task INSTEAD OF INSERT ON votes_on_new_tasks BEGIN
  INSERT INTO tasks VALUES (new.task, new.name, new.name_checksum);
  INSERT INTO votes VALUES (new.id, new.task, new.worker, new.label, new.checksum);
END;
"""


class Database:
    """One file, which one process writes and any number read."""

    def __init__(
        self,
        directory: Path,
        *,
        sync: bool = False,
        read_only: bool = False,
        recover: bool = False,
    ) -> None:
        self.directory, self.path = directory, directory / NAME
        self.read_only = read_only
        self.notes: list[str] = []
        self._lock = None if read_only else _lock(directory)
        try:
            if not read_only:
                self.notes += wal.check(self.path, recover)
            self._connection = self._connect(sync)
        except BaseException:
            self._unlock()
            raise
        self._execute = self._connection.cursor().execute
        self._version = -1

    @property
    def place(self) -> str:
        """The directory."""
        return str(self.directory)

    def _connect(self, sync: bool) -> sqlite3.Connection:
        with self._told("cannot be opened"):
            mode = "ro" if self.read_only else "rwc"
            connection = sqlite3.connect(
                f"file:{quote(str(self.path.absolute()))}?mode={mode}",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                self._prepare(connection, sync)
            except BaseException:
                connection.close()
                raise
        return connection

    def _prepare(self, connection: sqlite3.Connection, sync: bool) -> None:
        execute = connection.execute
        execute("PRAGMA busy_timeout = 10000")
        if not self.read_only:
            execute("PRAGMA page_size = 2048")
            execute("PRAGMA journal_mode = WAL")
            execute(f"PRAGMA synchronous = {'FULL' if sync else 'NORMAL'}")
            execute(f"PRAGMA wal_autocheckpoint = {PAGES_OF_WAL}")
            if not execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
                connection.executescript(
                    f"BEGIN; {SCHEMA} {GOLD_SCHEMA} PRAGMA application_id = {APPLICATION};"
                    f"PRAGMA user_version = {FORMAT}; COMMIT"
                )
        if execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
            raise DataError(f"{self.path} is no file of Quorate's, or damaged.")
        execute("BEGIN")  # as of one moment: a writer may bring it up to this format
        found, schema = _format_of(connection), _schema_of(connection)
        execute("ROLLBACK")
        if found not in (WITHOUT_GOLD, FORMAT):
            raise DataError(f"{self.path} is in format {found}; this Quorate reads {FORMAT}.")
        if schema != _right_schema(found):
            raise self._damaged(" in its schema")
        if execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise self._damaged()
        if not self.read_only:
            if found == WITHOUT_GOLD:
                connection.executescript(
                    f"BEGIN; {GOLD_SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT"
                )
            execute("PRAGMA temp_store = MEMORY")
            connection.executescript(SHORTCUT)

    def close(self) -> None:
        try:
            with self._told("cannot be closed"):
                self._connection.close()
        finally:
            self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """SQLite's errors in a sentence."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_MISMATCH):
                raise self._damaged() from None
            raise DataError(f"{self.path} {what}: {error}.") from None
        except UnicodeDecodeError:  # SQLite repeats what is damaged in its message
            raise self._damaged() from None
        except OSError as error:
            raise DataError(f"{self.path} {what}: {error.strerror or error}.") from None

    def _damaged(self, where: str = "") -> DataError:
        return DataError(f"{self.path} is damaged{where}: restore it from a copy.")

    # Writing: a transaction each.

    def _transact(self, write: Callable[[], object]) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            write()
            self._connection.execute("COMMIT")
        except BaseException as error:
            self.roll_back()
            raise self._unwritten(error) from None

    def _unwritten(self, error: BaseException) -> BaseException:
        """SQLite's errors in a sentence, others as they are."""
        if not isinstance(error, sqlite3.Error):
            return error
        try:
            with self._told("cannot be written, so nothing changed"):
                raise error
        except DataError as told:
            return told

    def roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.rollback()

    def add_vote(
        self, vote: tuple[int, int, int, int], names: Mapping[str, Sequence[tuple[int, Any]]]
    ) -> None:
        """A vote (id, task, worker, label) and the names that came with it: one statement, unless
        more than the task is new."""
        a, b, c, d = FACTORS
        id, task, worker, label = vote
        row = (*vote, (a * id + b * task + c * worker + d * label) & MASK)
        new_task = names.get("task") if len(names) == 1 else None
        try:
            if not names:
                self._execute(INSERT_VOTE, row)
            elif new_task and not isinstance(name := new_task[0][1], bool):
                self._execute(INSERT_VOTE_ON_NEW_TASK, (*row, name, _name_sum("task", task, name)))
            else:
                self.add(names, [vote])
        except sqlite3.Error as error:
            raise self._unwritten(error) from None

    def add(self, names: NumberedNames, votes: Sequence[Sequence[int]] | NDArray[np.int64]) -> None:
        """New names, and votes of ids: (id, task, worker, label), or columns of them."""
        self._transact(lambda: self._insert(names, votes))

    def _insert(
        self, names: NumberedNames, votes: Sequence[Sequence[int]] | NDArray[np.int64]
    ) -> None:
        for role, some in names.items():
            self._add_names(role, some)
        if isinstance(votes, np.ndarray):
            rows = np.vstack([votes, np.array(FACTORS) @ votes & MASK]).T
            batch = (int(votes[0, 0]), votes.shape[1])
            self._insert_all("batches", 3, [*batch, _sum_of(batch)])
            self._insert_all("votes", 5, rows.ravel().tolist())
        else:
            self._connection.executemany(INSERT_VOTE, [(*vote, _sum_of(vote)) for vote in votes])

    def _insert_all(self, table: str, width: int, cells: Sequence[Any]) -> None:
        """Rows, cell by cell; many by one statement, which takes half the time."""
        row, at_once = f"({', '.join('?' * width)})", width * ROWS_PER_STATEMENT
        rest = len(cells) - len(cells) % at_once
        for first, last, step in ((0, rest, at_once), (rest, len(cells), width)):
            insert = f"INSERT INTO {table} VALUES {', '.join([row] * (step // width))}"
            values = (cells[i : i + step] for i in range(first, last, step))
            self._connection.executemany(insert, values)

    def _add_names(self, role: str, names: Iterable[tuple[int, Any]]) -> None:
        rows = list(names)
        if not rows:
            return
        if isinstance(rows[0][1], bool):
            self._put_setting(f"{role}s are truth values", "true")
        ids, named = zip(*rows, strict=True)
        cells = zip(ids, named, _name_sums(role, ids, named), strict=True)
        self._insert_all(TABLES[role], 3, list(chain.from_iterable(cells)))

    def remove(self, number: int, vote: int) -> None:
        """Checkpoints from that vote on are of another history."""
        execute, row = self._connection.execute, (number, vote, _sum_of((number, vote)))

        def write() -> None:
            execute("INSERT INTO removed VALUES (?, ?, ?)", row)
            execute("DELETE FROM checkpoints WHERE vote >= ?", (vote,))

        self._transact(write)

    def settle(self, number: int, after: int) -> None:
        row = (number, after, _sum_of((number, after)))
        insert = "INSERT INTO settlings VALUES (?, ?, ?)"
        self._transact(lambda: self._connection.execute(insert, row))

    def add_gold(self, names: NumberedNames, first: int, event: Event, settling: int) -> None:
        """New names, and known answers, whose ids begin with `first`."""
        rows = []
        for id, (task, label) in enumerate(event.gold, start=first):
            row = (id, task, label, first, event.after, settling)
            rows.append((*row, _gold_sum(row)))

        def write() -> None:
            for role, some in names.items():
                self._add_names(role, some)
            self._connection.executemany("INSERT INTO gold VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

        self._transact(write)

    def put_answers(self, rows: Iterable[tuple[int, int, float]], about: Mapping[str, str]) -> None:
        def write() -> None:
            self._connection.execute("DELETE FROM answers")
            self._connection.executemany("INSERT INTO answers VALUES (?, ?, ?)", rows)
            for name, value in about.items():
                self._put_setting(name, value)

        self._transact(write)

    def put_checkpoint(self, vote: int, settling: int, checkpoint: Checkpoint) -> None:
        state, execute = packed(checkpoint), self._connection.execute

        def write() -> None:
            row = (vote, settling, state, _check(state))
            execute("INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?)", row)
            places = execute("SELECT vote, settling FROM checkpoints ORDER BY 1 DESC, 2 DESC")
            for place in thinned(places.fetchall()):
                execute("DELETE FROM checkpoints WHERE vote = ? AND settling = ?", place)

        self._transact(write)

    # Settings.

    def settings(self) -> dict[str, Any]:
        with self._told("cannot be read"):
            rows = self._connection.execute("SELECT name, value, checksum FROM settings").fetchall()
        for name, value, checksum in rows:
            content = value if isinstance(value, bytes) else str(value).encode()
            if _check(str(name).encode() + content) != checksum:
                raise self._damaged(f" in setting {name}")
        return {name: value for name, value, _ in rows}

    def create(
        self,
        settings: Mapping[str, str | bytes],
        names: NumberedNames,
        content: Content,
    ) -> None:
        """The settings, and what there is to begin with."""

        def write() -> None:
            for name, value in settings.items():
                self._put_setting(name, value)
            self._insert(names, content.votes.tolist())
            batches = zip(*np.unique(content.batch, return_counts=True), strict=True)
            rows = [(int(i), int(n), _sum_of((int(i), int(n)))) for i, n in batches if n > 1]
            self._connection.executemany("INSERT INTO batches VALUES (?, ?, ?)", rows)
            settlings = [event.after for event in content.events]
            for table, numbers in (("removed", content.removed), ("settlings", settlings)):
                rows = [(i, n, _sum_of((i, n))) for i, n in enumerate(numbers, start=1)]
                self._connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", rows)

        self._transact(write)

    def _put_setting(self, name: str, value: str | bytes) -> None:
        content = value if isinstance(value, bytes) else value.encode()
        row = (name, value, _check(name.encode() + content))
        self._connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?, ?)", row)

    # Reading.

    def changed(self) -> bool:
        """Whether another process has written since this was last asked."""
        before = self._version
        with self._told("cannot be read"):
            self._version = self._connection.execute("PRAGMA data_version").fetchone()[0]
        return bool(self._version != before)

    def read(self, names: Mapping[str, int], seen: Seen) -> Content:
        """What came after so many names of each role and after what was seen already: as of one
        moment, and all of it checked."""
        with self._told("cannot be read"):
            self._connection.execute("BEGIN")
            try:
                votes = self._votes(seen.vote)
                return Content(
                    {role: self._names(role, n) for role, n in names.items()},
                    votes,
                    self._batch_of(votes),
                    self._numbers("removed", "vote", seen.removed),
                    self._events(seen.settlings, seen.gold),
                )
            finally:
                self.roll_back()

    def _names(self, role: str, n: int) -> list[Any]:
        names = self._text_names(role, n)
        return self._names_by_row(role, n) if names is None else names

    def _text_names(self, role: str, n: int) -> list[Any] | None:
        """Names as one text, which takes half the time of row by row; None if not all of them are
        text, or anything is wrong."""
        rows = f"SELECT * FROM {TABLES[role]} WHERE id >= ? OR id < 0 ORDER BY id"
        about = "count(*), min(id), max(id), min(typeof(name)), max(typeof(name))"
        query = f"SELECT json_group_array(name), group_concat(checksum), {about} FROM ({rows})"
        try:
            text, sums, *found = self._connection.execute(query, (n,)).fetchone()
            if found != [found[0], n, n + found[0] - 1, "text", "text"]:
                return None
            names: list[Any] = json.loads(text)
            right = ",".join(map(str, _name_sums(role, range(n, n + len(names)), names)))
        except (sqlite3.Error, ValueError):
            return None
        return names if right == sums else None

    def _names_by_row(self, role: str, n: int) -> list[Any]:
        query = f"SELECT id, name, checksum FROM {TABLES[role]} WHERE id >= ? OR id < 0 ORDER BY id"
        rows = self._connection.execute(query, (n,)).fetchall()
        if rows and f"{role}s are truth values" in self.settings():
            rows = [(id, bool(name), checksum) for id, name, checksum in rows]
        if not rows:
            return []
        ids, names, checksums = map(list, zip(*rows, strict=True))
        if ids != list(range(n, n + len(rows))):
            raise self._damaged(f" in the numbers of {role}s")
        if _name_sums(role, ids, names) != checksums:
            raise self._damaged(f" in the names of {role}s")
        return names

    def _votes(self, after: int) -> NDArray[np.int64]:
        first, last = self._connection.execute("SELECT min(id), max(id) FROM votes").fetchone()
        if last is None:
            return NOTHING.votes
        if first != 1:
            raise self._damaged(" at the first vote")
        starts = range(after, last, ROWS_AT_A_TIME)
        parts = [self._some_votes(start, min(start + ROWS_AT_A_TIME, last)) for start in starts]
        return np.concatenate([NOTHING.votes, *parts])

    def _some_votes(self, after: int, last: int) -> NDArray[np.int64]:
        """As text, which is several times quicker than row by row, two numbers in one; the
        checksums know the ids."""
        listed = "group_concat(task << 31 | worker), group_concat(label << 32 | checksum)"
        query = f"SELECT {listed} FROM (SELECT * FROM votes WHERE id > ? AND id <= ? ORDER BY id)"
        texts = self._connection.execute(query, (after, last)).fetchone()
        try:
            with warnings.catch_warnings(action="error"):
                on, said = [np.fromstring(str(text), np.int64, sep=",") for text in texts]
            votes = (np.arange(after + 1, last + 1), on >> 31, on & 2**31 - 1, said >> 32)
            rows = np.stack(votes, axis=1)
            right = (rows @ np.array(FACTORS) & MASK) == said & MASK
        except (ValueError, DeprecationWarning):
            raise self._damaged(f" after vote {after:,}") from None
        if not right.all():
            raise self._damaged(f" at vote {after + 1 + int(right.argmin()):,}")
        return rows

    def _batch_of(self, votes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The first of the votes that each was added together with."""
        batch = votes[:, 0].copy()
        if not len(batch):
            return batch
        query = "SELECT id, size, checksum FROM batches WHERE id >= ? OR id < 1"
        for id, size, checksum in self._connection.execute(query, (int(batch[0]),)):
            if not isinstance(size, int) or _sum_of((id, size)) != checksum:
                raise self._damaged(f" at batch {id}")
            start = id - int(votes[0, 0])
            batch[start : start + size] = id
        return batch

    def _events(self, settlings: int, gold: int) -> list[Event]:
        """Settlings and known answers in the order in which they came: what came after a settling
        knows its number."""
        settled = self._numbers("settlings", "after", settlings)
        found = [(settlings + i, 0, Event(after)) for i, after in enumerate(settled, start=1)]
        for (first, settling), rows in groupby(self._gold(gold), key=itemgetter(3, 5)):
            together = list(rows)
            answers = tuple((task, label) for _, task, label, *_ in together)
            found.append((settling, first, Event(together[0][4], answers)))
        return [event for _, _, event in sorted(found, key=itemgetter(0, 1))]

    def _gold(self, n: int) -> list[Any]:
        if _format_of(self._connection) == WITHOUT_GOLD:
            return []
        columns = "id, task, label, together, vote, settling, checksum"
        query = f"SELECT {columns} FROM gold WHERE id > ? OR id < 1 ORDER BY id"
        rows = self._connection.execute(query, (n,)).fetchall()
        for place, (*row, checksum) in enumerate(rows, start=n + 1):
            numbers = all(isinstance(cell, int) for cell in row if cell is not None)
            if row[0] != place or not numbers or _gold_sum(row) != checksum:
                raise self._damaged(f" at row {place} of gold")
        return rows

    def _numbers(self, table: str, column: str, n: int) -> list[int]:
        query = f"SELECT id, {column}, checksum FROM {table} WHERE id > ? OR id < 1 ORDER BY id"
        rows = self._connection.execute(query, (n,)).fetchall()
        for place, (id, number, checksum) in enumerate(rows, start=n + 1):
            if id != place or not isinstance(number, int) or _sum_of((id, number)) != checksum:
                raise self._damaged(f" at row {place} of {table}")
        return [number for _, number, _ in rows]

    def checkpoint(self, vote: int, settling: int) -> Checkpoint | None:
        """The latest that is whole, not after that vote and settling."""
        query = (
            "SELECT state, checksum FROM checkpoints"
            " WHERE vote <= ? AND settling <= ? ORDER BY vote DESC, settling DESC"
        )
        with self._told("cannot be read"):
            for state, checksum in self._connection.execute(query, (vote, settling)):
                if isinstance(state, bytes) and _check(state) == checksum:
                    with suppress(*UNREADABLE):
                        return unpacked(state)
        return None


def _schema_of(connection: sqlite3.Connection) -> set[Any]:
    """SQLite believes what the file says of its columns, damaged or not."""
    return set(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"))


def _format_of(connection: sqlite3.Connection) -> int:
    found: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return found


@cache
def _right_schema(format: int) -> set[Any]:
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.executescript(SCHEMA if format == WITHOUT_GOLD else SCHEMA + GOLD_SCHEMA)
        return _schema_of(empty)


def _gold_sum(row: Sequence[int | None]) -> int:
    numbers = [-1 if number is None else number for number in row]
    return sum(map(int.__mul__, numbers, MORE_FACTORS)) & MASK


def _sum_of(numbers: Sequence[int]) -> int:
    return sum(map(int.__mul__, numbers, FACTORS)) & MASK


def _name_sums(role: str, ids: Sequence[int], names: Sequence[Any]) -> list[int]:
    text = names if set(map(type, names)) == {str} else map(_spelt, names)
    try:
        return list(map(zlib.crc32, map(str.encode, text), ids))
    except UnicodeEncodeError:
        raise _half_a_character(role) from None


def _name_sum(role: str, id: int, name: Any) -> int:
    try:
        return zlib.crc32(_spelt(name).encode(), id)
    except UnicodeEncodeError:
        raise _half_a_character(role) from None


def _half_a_character(role: str) -> DataError:
    return DataError(f"A {role} has half a character in its name.")


def _spelt(name: Any) -> str:
    return name if type(name) is str else repr(name)


def _check(content: bytes) -> int:
    return zlib.crc32(content)


def _lock(directory: Path) -> sqlite3.Connection:
    """Refuse a second writer, in this process too; the lock goes with its process."""
    path = directory / LOCK
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0)
    except (OSError, sqlite3.Error) as error:
        why = getattr(error, "strerror", None) or error
        raise DataError(f"{directory} cannot be opened: {why}.") from None
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        lock.close()
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            raise DataError(
                f"{directory} is open already: only one Online can write to it; others can open it"
                " with read_only=True."
            ) from None
        raise DataError(f"{path} cannot be locked: {error}.") from None
    return lock
