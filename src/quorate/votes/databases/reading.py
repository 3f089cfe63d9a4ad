"""Tables and queries of databases, read into memory, or copied to files that are read in pieces."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from quorate.errors import UsageError
from quorate.votes.databases.address import Address
from quorate.votes.databases.connecting import connected, failing
from quorate.votes.databases.database import Database

ROWS = 250_000  # that are asked for at a time
FILE_ROWS = 500_000  # of a file of a copy


@dataclass(frozen=True)
class Query:
    """A query of a database, or all of one of its tables, and the names of its columns."""

    address: Address
    names: Sequence[str]

    @classmethod
    def of(cls, url: str) -> Query:
        """What the address asks for, refused if it cannot be asked."""
        address = Address.of(url)
        if address.mode is not None:
            raise UsageError(f"mode is for writing: leave it out of what {address.shown} is asked.")
        with connected(address) as database:
            return cls(address, _asked(database)[1])

    def take(self, columns: Sequence[str]) -> pl.DataFrame:
        """These columns, of one run of the query."""
        return pl.concat(list(self.frames(columns)))

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield these columns a batch of rows at a time, of one run of the query."""
        with connected(self.address) as database:
            query, _ = _asked(database)
            yield from database.frames(query, list(dict.fromkeys(columns)), ROWS)

    def copy(
        self, columns: Sequence[str], place: Path, progress: Callable[[int], None], sums: bool
    ) -> str:
        """Write these columns to Parquet files in a directory, a part of the rows in each; the
        digest of all rows if that is wanted."""
        digest = hashlib.blake2b()
        held: list[pl.DataFrame] = []
        rows = n_files = 0

        def write() -> None:
            pl.concat(held).write_parquet(place / f"{n_files:06d}.parquet")
            held.clear()

        for frame in self.frames(columns):
            if sums:
                digest.update(frame.write_csv(include_header=not n_files).encode())
            held.append(frame)
            rows += len(frame)
            progress(rows)
            if sum(map(len, held)) >= FILE_ROWS:
                write()
                n_files += 1
        if held:
            write()
        return digest.hexdigest() if sums else ""


def _asked(database: Database) -> tuple[str, list[str]]:
    """The query that the address asks for, and the names of its columns."""
    query = database.query()
    with failing(database, database.address, "cannot be asked"):
        return query, database.columns(query)
