"""Comparisons of any source as votes on pairs: a task is a pair of systems, a label who won."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array

from quorate.errors import DataError
from quorate.labels import Labels
from quorate.ranking.bradley_terry import LEFT, RIGHT, TIE
from quorate.votes import Kind, retyped, shown
from quorate.votes.blocks import Blocks, MemoryBlocks
from quorate.votes.columns import SYNONYMS, column_of, fitting, note_of
from quorate.votes.databases import asked
from quorate.votes.factorise import codes_of
from quorate.votes.reading import complete_rows, missing_words
from quorate.votes.sources import SourceTable, open_source, read_once, table_of
from quorate.words import count

ROLES = ("left", "right", "worker", "winner")
SHOWN_WORDS = 3
MOST_SYSTEMS = 3_000
# What is said of the winner, beside the name of a system, in small letters.
WORDS: Mapping[int, Sequence[str]] = {
    LEFT: ("left", "model_a", "model_1", "a", "first", "system_a", "assistant_a", "1"),
    RIGHT: ("right", "model_b", "model_2", "b", "second", "system_b", "assistant_b", "2"),
    TIE: (
        *("tie", "draw", "tied", "equal", "same", "both", "neither", "none", "both_bad", "bothbad"),
        *("tie (bothbad)", "tie (inconsistent)", "both bad", "0.5", "c"),
    ),
}
MEANING = {word: code for code, words in WORDS.items() for word in words}
NO_VERDICT = ("error",)  # of a judge whose answer could not be read


class ReadingComparisons(TypedDict, total=False):
    """Options of reading comparisons: the names of columns, the format of files, the cells that are
    missing, and the query or the table of a database."""

    left_column: str | None
    right_column: str | None
    worker_column: str | None
    winner_column: str | None
    format: str | None
    missing: str | Sequence[str] | None
    query: str | None
    table: str | None


class Dropped(NamedTuple):
    """Rows that are no comparison: with a missing field, without a verdict, and of a system with
    itself."""

    missing: int = 0
    no_verdict: int = 0
    same: int = 0


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Blocks of pairs, each of which has a row in the design matrix (`Labels.features`): 1 for the
    system on the left and -1 for the one on the right; votes on it are left, tie or right.

    `workers` is None where the table does not say who compared."""

    blocks: Blocks
    systems: pl.Series
    workers: pl.Series | None
    rows: int
    dropped: Dropped
    kind: Kind
    notes: tuple[str, ...] = ()

    @property
    def n_comparisons(self) -> int:
        return self.blocks.n_labels

    def __repr__(self) -> str:
        return f"Comparisons({self.n_comparisons:,} of {len(self.systems):,} systems)"


def read_comparisons(source: Any, **reading: Unpack[ReadingComparisons]) -> Comparisons:
    """Read comparisons from a file, several files, standard input, a database, a data frame, or
    rows of (left, right, worker, winner).

    The winner is the name of a system, a side (left, right, model_a, model_b, ...) or a tie. There
    may be no worker; and columns of winner and loser stand for left, right and winner.

    Examples:
        >>> read_comparisons([("a", "b", "ann", "a"), ("b", "c", "ann", "tie")])
        Comparisons(2 of 3 systems)
    """
    if isinstance(source, Comparisons):
        return source
    source = asked(read_once(source), reading.get("query"), reading.get("table"))
    missing = missing_words({"missing": reading.get("missing")})
    opened = open_source(source, ROLES, reading.get("format"), missing)
    columns = {
        "left": reading.get("left_column"),
        "right": reading.get("right_column"),
        "worker": reading.get("worker_column"),
        "winner": reading.get("winner_column"),
    }
    roles, by_loser = _roles(opened, columns)
    table = table_of(opened, roles)
    rows = complete_rows(table, missing)
    notes = () if by_loser else tuple(note_of(roles, columns))
    read = _encoded(rows, table.text, replace(table.kind, columns={}, dtypes={}))
    dropped = read.dropped._replace(missing=len(table.frame) - len(rows))
    return replace(
        read, rows=len(table.frame), dropped=dropped, notes=(*opened.notes, *notes, *_told(dropped))
    )


def _roles(opened: SourceTable, columns: Mapping[str, str | None]) -> tuple[dict[str, str], bool]:
    """The column of each role, without a worker where there is none; and whether winner and loser
    stand for the sides."""

    def find(role: str) -> str:
        return column_of(role, columns, opened.names, opened.origin)

    names = opened.names
    losers = fitting("loser", names, ())
    told = columns["left"] or columns["right"] or fitting("left", names, SYNONYMS["left"])
    if losers and not told:
        winner = find("winner")
        roles = {"left": winner, "right": losers[0], "winner": winner}
    else:
        roles = {role: find(role) for role in ("left", "right", "winner")}
    rest = [name for name in names if name not in roles.values()]
    if columns["worker"] is not None or fitting("worker", rest, SYNONYMS["worker"]):
        roles["worker"] = find("worker")
    return roles, bool(losers) and not told


def _encoded(rows: pl.DataFrame, text: bool, kind: Kind) -> Comparisons:
    """The rows in codes."""
    verdict = verdicts(rows["winner"], rows["left"], rows["right"])
    named = rows["left"].dtype == rows["right"].dtype
    left, right = (
        rows[side] if named else rows[side].cast(pl.String) for side in ("left", "right")
    )
    same = (left == right).to_numpy()
    kept = (verdict >= 0) & ~same
    if not kept.any():
        raise DataError("There are no comparisons: no row has two systems, and who won.")
    left, right = left.filter(kept), right.filter(kept)
    code, systems = codes_of(pl.concat([left.alias("system"), right.alias("system")]))
    systems, code = _sorted(retyped(systems) if text else systems, code)
    _require_few(systems)
    workers, worker = None, np.zeros(len(left), dtype=np.int32)
    if "worker" in rows.columns:
        worker, workers = codes_of(rows["worker"].filter(kept))
        workers = retyped(workers) if text else workers
    dropped = Dropped(0, int(((verdict < 0) & ~same).sum()), int(same.sum()))
    blocks = pairs(code[: len(left)], code[len(left) :], worker, verdict[kept], len(systems))
    return Comparisons(blocks, systems, workers, len(rows), dropped, kind)


def pairs(
    left: NDArray[np.integer],
    right: NDArray[np.integer],
    worker: NDArray[np.integer],
    verdict: NDArray[np.integer],
    n_systems: int,
) -> MemoryBlocks:
    """Blocks of the ordered pairs of systems, with the votes on each."""
    both = left.astype(np.int64) * n_systems + right
    task, pair = codes_of(pl.Series("pair", both))
    one, other = np.divmod(pair.to_numpy(), n_systems)
    ends = np.stack([one, other], axis=1).astype(np.int32).ravel()
    signs = np.tile(np.array([1, -1], dtype=np.int8), len(pair))
    starts = np.arange(0, len(ends) + 1, 2, dtype=np.int32)
    design = csr_array((signs, ends, starts), shape=(len(pair), n_systems))
    labels = Labels.from_codes(task, worker, verdict, n_classes=3, features=design)
    return MemoryBlocks(labels, pair)


def verdicts(winner: pl.Series, left: pl.Series, right: pl.Series) -> NDArray[np.int64]:
    """Who won each comparison: left, tie or right, -1 where there is no verdict.

    A system's name is that system, whatever it means elsewhere.

    Examples:
        >>> verdicts(pl.Series(["a", "B", "tie"]), pl.Series(["a"] * 3), pl.Series(["B"] * 3))
        array([0, 2, 1])
    """
    said, one, other = (column.cast(pl.String) for column in (winner, left, right))
    found = np.full(len(said), -2, dtype=np.int64)
    found[(said == one).to_numpy()] = LEFT
    found[(said == other).to_numpy()] = RIGHT
    rest = np.flatnonzero(found == -2)
    if len(rest):
        words = said.gather(rest).str.strip_chars().str.to_lowercase()
        meant = words.replace_strict(
            {**MEANING, **dict.fromkeys(NO_VERDICT, -1)}, default=-2, return_dtype=pl.Int64
        )
        elsewhere = said.gather(rest).is_in(pl.concat([one, other]).unique().implode())
        found[rest] = np.where(elsewhere.to_numpy(), -2, meant.to_numpy())
    _require_known(winner, found)
    return found


def _require_known(winner: pl.Series, found: NDArray[np.int64]) -> None:
    """Refuse a winner that is neither system nor a word for a side."""
    unknown = winner.filter(found == -2).unique(maintain_order=True)
    if len(unknown):
        some = ", ".join(shown(name) for name in unknown.head(SHOWN_WORDS))
        raise DataError(
            f"{int((found == -2).sum()):,} comparisons have a winner that is neither of their"
            f" systems: {some}; a winner is one of the two names, left or right (model_a or"
            " model_b, 1 or 2), or tie."
        )


def _sorted(
    names: pl.Series, code: NDArray[np.signedinteger]
) -> tuple[pl.Series, NDArray[np.signedinteger]]:
    """The names in order, and the codes that go with it: what comes out then does not depend on
    the order of the rows."""
    order = names.arg_sort().to_numpy()
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return names.gather(order), place[code]


def _require_few(systems: pl.Series) -> None:
    if len(systems) > MOST_SYSTEMS:
        raise DataError(
            f"There are {len(systems):,} different systems, such as {shown(systems[0])}: up to"
            f" {MOST_SYSTEMS:,} can be ranked at once."
        )


def _told(dropped: Dropped) -> list[str]:
    """What is said of the rows that were dropped."""
    what = {
        "without a field": dropped.missing,
        "without a verdict": dropped.no_verdict,
        "of a system with itself": dropped.same,
    }
    rows = {why: count(n, "row") for why, n in what.items() if n}
    return [f"Left out: {number} {why}." for why, number in rows.items()]
