"""The database behind the server: one writes, under a lock; any number read."""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    ARRAY,
    Column,
    ColumnElement,
    Connection,
    Dialect,
    Engine,
    Executable,
    Integer,
    Select,
    Table,
    Text,
    bindparam,
    cast,
    create_engine,
    event,
    exc,
    func,
    insert,
    literal_column,
    select,
)
from sqlalchemy.dialects import postgresql

from quorate.errors import DataError, UsageError, masked
from quorate.service.failures import RepeatedError, UnavailableError
from quorate.service.store import tables
from quorate.service.store.migrations import migrate

T = TypeVar("T")
Values = dict[str, Any] | list[dict[str, Any]] | None
APPLICATION = 0x51756F53  # of SQLite files: "QuoS"
LOCK = 0x51756F72  # the number of PostgreSQL's advisory lock
POSTGRESQL = re.compile(r"postgres(?:ql)?(?:\+\w+)?://", re.I)
PATIENCE = 10  # seconds, for another process that writes to the same file


def is_postgresql(address: str) -> bool:
    """Whether an address is that of a PostgreSQL server; otherwise it is the path of a file."""
    return POSTGRESQL.match(address) is not None


@dataclass
class Changes:
    """Rows to append, by table, and statements to run after them: a transaction."""

    rows: dict[Table, list[Sequence[Any]]] = field(default_factory=dict)
    statements: list[tuple[Executable, Values]] = field(default_factory=list)

    def add(self, table: Table, rows: Iterable[Sequence[Any]]) -> None:
        """Rows with a cell for every column."""
        self.rows.setdefault(table, []).extend(rows)

    def run(self, statement: Executable, values: Values = None) -> None:
        """A statement, once or for each of many values, after all rows."""
        self.statements.append((statement, values))

    def __bool__(self) -> bool:
        return bool(self.statements) or any(self.rows.values())


class Store:
    """A SQLite file, or a PostgreSQL database, with up-to-date tables.

    Who has the lock `leads`, and may write. A SQLite file that another server leads is refused; of
    a PostgreSQL database the second server reads until the first is gone.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.is_postgresql = is_postgresql(address)
        self.place = masked(address) if self.is_postgresql else str(address)
        self.leads = False
        self._writing = threading.RLock()
        self._writer: Connection | None = None
        self._file_lock = None if self.is_postgresql else _file_lock(Path(address))
        self._engine = _postgresql(address) if self.is_postgresql else _sqlite(Path(address))
        try:
            self.lead()
            if not self.leads:
                with self.reading() as connection:
                    connection.execute(select(tables.schema.c.version))
        except BaseException:
            self.close()
            raise

    # The lock.

    def lead(self) -> bool:
        """Try to be the one that writes; what it takes over is brought up to date."""
        with self._writing, self._told("cannot be opened"):
            if self._writer is None or self._writer.closed or self._writer.invalidated:
                self._connect_writer()
            writer = self._writer
            assert writer is not None
            if self.leads:
                return True
            if self.is_postgresql:
                with writer.begin():
                    lock = select(func.pg_try_advisory_lock(LOCK))
                    if not writer.execute(lock).scalar():
                        return False
            with _transaction(writer):
                migrate(writer, self.place)
            self.leads = True
            return True

    def _connect_writer(self) -> None:
        self.leads = False
        if self._writer is not None:
            with suppress(Exception):
                self._writer.close()
        self._writer = _to_write(self._engine)

    # Writing and reading.

    def write(self, changes: Changes) -> None:
        """All of it, or nothing and one sentence."""
        with self._writing, self._told("cannot be written, so nothing changed"):
            if not self.lead():
                raise UnavailableError(
                    f"Another server writes to {self.place}: this one only reads, until that is"
                    " gone."
                )
            assert self._writer is not None
            try:
                with _transaction(self._writer, several=bool(changes.statements)):
                    self._insert({table: rows for table, rows in changes.rows.items() if rows})
                    for statement, values in changes.statements:
                        self._writer.execute(statement, values or {})
            except exc.DBAPIError as error:
                if self.is_postgresql:  # the lock goes with the connection
                    lost = error.connection_invalidated or isinstance(error, exc.OperationalError)
                    if lost:
                        self._give_up_writer()
                raise

    def _give_up_writer(self) -> None:
        self.leads = False
        if self._writer is not None:
            with suppress(Exception):
                self._writer.invalidate()
                self._writer.close()
        self._writer = None

    def _insert(self, rows: Mapping[Table, Sequence[Sequence[Any]]]) -> None:
        assert self._writer is not None
        if self.is_postgresql and rows:
            arrays = {
                _name_in(column): _array_of(column, cells)
                for table, some in rows.items()
                for column, cells in zip(table.columns, zip(*some, strict=True), strict=True)
            }
            self._writer.exec_driver_sql(_insert_arrays(tuple(rows)), arrays)
            return
        for table, some in rows.items():
            self._writer.exec_driver_sql(_insert_rows(table), list(map(tuple, some)))

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees the database as of one moment."""
        with self._told("cannot be read"), self._engine.connect() as connection:
            if self.is_postgresql:
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    def read(self, ask: Callable[[Connection], T]) -> T:
        """What one statement answers: on PostgreSQL it needs no transaction around it."""
        if not self.is_postgresql:
            with self.reading() as connection:
                return ask(connection)
        with self._told("cannot be read"), self._engine.connect() as connection:
            return ask(connection.execution_options(isolation_level="AUTOCOMMIT"))

    def reachable(self) -> bool:
        """Whether the database answers."""
        try:
            self.read(lambda connection: connection.execute(select(tables.schema.c.version)))
        except (UnavailableError, DataError):
            return False
        return True

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """The database's errors in a sentence."""
        try:
            yield
        except exc.SQLAlchemyError as error:
            cause = getattr(error, "orig", None) or error
            why = " ".join(str(cause).split("\n")[0].split()) or type(cause).__name__
            if isinstance(cause, sqlite3.DatabaseError) and not isinstance(
                cause, (sqlite3.OperationalError, sqlite3.IntegrityError)
            ):
                raise DataError(
                    f"{self.place} is damaged, or no file of Quorate's: {why}."
                ) from None
            kind = RepeatedError if isinstance(error, exc.IntegrityError) else UnavailableError
            raise kind(f"{self.place} {what}: {why.rstrip('.')}.") from None
        except UnicodeEncodeError:
            raise DataError("There is half a character in a text.") from None

    def copy_to(self, path: Path) -> None:
        """A copy of a SQLite file as of one moment, while others write to it."""
        with self._told("cannot be copied"):
            back_up(Path(self.address), path)

    def close(self) -> None:
        """Let others lead."""
        if self._writer is not None:
            with suppress(exc.SQLAlchemyError):
                self._writer.close()
            self._writer = None
        self.leads = False
        self._engine.dispose()
        if self._file_lock is not None:
            self._file_lock.close()


@contextmanager
def beside(address: str) -> Iterator[Connection]:
    """A transaction beside a server that may be running."""
    if not is_postgresql(address):
        if not Path(address).exists():
            raise DataError(f"There is no database {address}: start it with `quorate serve`.")
        _require_own_file(Path(address))
    engine = _postgresql(address) if is_postgresql(address) else _sqlite(Path(address))
    try:
        with _to_write(engine) as connection, _transaction(connection):
            migrate(connection, masked(address))
            yield connection
    except exc.SQLAlchemyError as error:
        cause = " ".join(str(getattr(error, "orig", None) or error).split())
        raise UnavailableError(f"{masked(address)} cannot be used: {cause}.") from None
    finally:
        engine.dispose()


def _to_write(engine: Engine) -> Connection:
    """A connection for `_transaction`."""
    connection = engine.connect().execution_options(immediate=True)
    if engine.dialect.name == "postgresql":
        connection.execution_options(isolation_level="AUTOCOMMIT")
    return connection


@contextmanager
def _transaction(connection: Connection, *, several: bool = True) -> Iterator[None]:
    """A transaction of several statements, or of one, which on PostgreSQL is one by itself."""
    with connection.begin():
        if several and connection.dialect.name == "postgresql":
            connection.exec_driver_sql("BEGIN")
        yield


@cache
def _insert_rows(table: Table) -> str:
    """A row as a mark for each cell."""
    names = [column.name for column in table.columns]
    marks = ", ".join("?" * len(names))
    return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({marks})"


@cache
def _insert_arrays(into: Sequence[Table]) -> str:
    """Rows as arrays, a parameter for each column: one statement, however many rows and tables
    there are, so that they go to the server and back once."""
    parts = []
    for table in into:
        cells = [func.unnest(_parameter(column)) for column in table.columns]
        added = insert(table).from_select([column.name for column in table.columns], select(*cells))
        parts.append(added.cte(f"to_{table.name}"))
    whole: Select[Any] = select(literal_column("1")).add_cte(*parts)
    dialect: Dialect = postgresql.psycopg.dialect()  # type: ignore[no-untyped-call]
    return str(whole.compile(dialect=dialect))


def _parameter(column: Column[Any]) -> ColumnElement[Any]:
    if _is_whole(column):
        return cast(bindparam(_name_in(column), type_=Text), ARRAY(column.type))
    return bindparam(_name_in(column), type_=ARRAY(column.type))


def _array_of(column: Column[Any], cells: Sequence[Any]) -> Any:
    """A parameter's value: whole numbers as one text, which takes the driver a tenth of the time of
    a list."""
    if not _is_whole(column):
        return list(cells)
    return f"{{{','.join(['NULL' if cell is None else str(cell) for cell in cells])}}}"


def _name_in(column: Column[Any]) -> str:
    """The name of a column's parameter."""
    return f"{column.table.name}_{column.name}"


def _is_whole(column: Column[Any]) -> bool:
    return isinstance(column.type, Integer)


def _sqlite(path: Path) -> Engine:
    engine = create_engine(f"sqlite:///{path.absolute()}", connect_args={"timeout": PATIENCE})

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions begin where they are begun here
        for pragma in (
            "journal_mode = WAL",
            "synchronous = FULL",
            "wal_autocheckpoint = 4000",
            "cache_size = -65536",
            "temp_store = MEMORY",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        immediate = connection.get_execution_options().get("immediate")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")

    return engine


def _postgresql(address: str) -> Engine:
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise UsageError(
            "PostgreSQL needs another package: pip install 'quorate[serve]'."
        ) from None
    url = "postgresql+psycopg://" + address.split("://", 1)[1]
    try:
        return create_engine(url, connect_args={"connect_timeout": 5}, pool_pre_ping=True)
    except (exc.ArgumentError, ValueError):
        raise UsageError(f"{masked(address)} is no address of a PostgreSQL database.") from None


def _file_lock(path: Path) -> sqlite3.Connection:
    """Refuse a second server; the lock goes with its process."""
    if not path.parent.is_dir():
        raise DataError(f"{path} cannot be made: there is no directory {path.parent}.")
    if path.is_dir():
        raise DataError(f"{path} is a directory: name a file, such as {path / 'project.db'}.")
    _require_own_file(path)
    place = path.with_name(f"{path.name}-lock")
    lock = None
    try:
        lock = sqlite3.connect(place, isolation_level=None, check_same_thread=False, timeout=0)
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        if lock is not None:
            lock.close()
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            raise DataError(
                f"{path} is served already: one server at a time can have a SQLite file; for"
                " several use PostgreSQL."
            ) from None
        raise DataError(f"{place} cannot be locked: {error}.") from None
    return lock


def _require_own_file(path: Path) -> None:
    """Refuse a file that is there and is somebody else's, or damaged; mark a new one."""
    try:
        connection = sqlite3.connect(path, isolation_level=None, timeout=PATIENCE)
    except sqlite3.Error as error:
        raise DataError(f"{path} cannot be opened: {error}.") from None
    try:
        found = connection.execute("PRAGMA application_id").fetchone()[0]
        empty = not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if empty:
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
        elif found != APPLICATION:
            raise DataError(f"{path} is no database of `quorate serve`: name another file.")
        elif connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise DataError(f"{path} is damaged: restore it from a backup.")
    except sqlite3.OperationalError as error:
        raise DataError(f"{path} cannot be opened: {error}.") from None
    except sqlite3.DatabaseError as error:
        raise DataError(f"{path} is no database of `quorate serve`, or damaged: {error}.") from None
    finally:
        connection.close()


def back_up(source: Path, target: Path) -> None:
    """Copy a SQLite file, whoever writes to it meanwhile; the copy is whole or not there."""
    if not source.exists():
        raise DataError(f"There is no database {source}.")
    if target.exists():
        raise DataError(f"{target} is there already: name another file.")
    half = target.with_name(f"{target.name}.part")
    half.unlink(missing_ok=True)
    try:
        read = sqlite3.connect(f"file:{source.absolute()}?mode=ro", uri=True)
        written = sqlite3.connect(half)
        try:
            read.backup(written)
            written.execute("PRAGMA journal_mode = DELETE")
        finally:
            written.close()
            read.close()
        half.replace(target)
    except (sqlite3.Error, OSError) as error:
        raise DataError(f"{source} cannot be copied to {target}: {error}.") from None
    finally:
        half.unlink(missing_ok=True)
