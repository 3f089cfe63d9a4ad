"""Wide tables: a row for each task and a column for each worker, as tables of judges are.

Which columns are workers shows in their cells: workers give the same few labels. Where that leaves
a doubt it is said, with what to type, and nothing is guessed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import polars as pl
from polars.selectors import by_name

from quorate.errors import DataError, UsageError
from quorate.votes.columns import SECONDS, SYNONYMS, TIMES, fitting, likeliest, no_column, plain
from quorate.votes.faults import listed, named
from quorate.votes.naming import retyped, whole_numbers
from quorate.votes.sources import File, SourceTable, require_plain
from quorate.votes.spelling import plain_labels

ROWS = 100_000  # that are looked at to find the columns of workers
MOST_LABELS, LONGEST_LABEL = 30, 40
LONGEST_OPTION = 120
MOSTLY_EMPTY = 0.5
IDS = ("id", "uid", "uuid", "guid", "key", "index", "idx", "", "unnamed:_0")
GOLD = ("gold", "truth", "ground_truth", "expected", "reference", "target", "correct")
# Columns of times, of the one label of a row, of gold and of tasks.
NO_WORKERS = {
    *(word for role in ("task", "label") for words in SYNONYMS[role] for word in (role, *words)),
    *(*SECONDS, *TIMES, *GOLD, *IDS),
}
SURE_LABELS = SYNONYMS["label"][:2]  # which a row of a wide table has hardly ever
YES_NO = {"true", "false", "yes", "no", "y", "n"}
# Names of what a judge is shown more often than of a judge, and of facts of a task.
DOUBTFUL = re.compile(
    r"(model|system|assistant|response|output|completion|category|topic|split|source|language)"
    r"(_?\w|_?\d+)?|(is|has|was|n|num)_.*|turn|round|epoch|seed|fold|batch|rank|count|size|length"
    r"|age|gender|temperature"
)


@dataclass(frozen=True)
class Layout:
    """What the caller says of a table: whether it is wide (None if nothing is said), which columns
    are workers, and which, of all its columns, are the task and the known answers."""

    wide: bool | None = None
    workers: tuple[str, ...] = ()
    gold: str | None = None
    task: str | None = None

    @property
    def asked(self) -> bool:
        return bool(self.wide or self.workers)


@dataclass(frozen=True)
class Shape:
    """The columns of a wide table: of the task (None for the names or numbers of rows), of the
    workers, those that are left out, and workers who have so few labels that they may be gold."""

    task: str | None
    workers: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    few: Mapping[str, str] = field(default_factory=dict)

    def notes(self, gold: str | None) -> tuple[str, ...]:
        """Which columns are taken for what."""
        task = "rows as tasks" if self.task is None else f"{named(self.task)} as task"
        left_out = f"; left out: {listed(self.left_out, 30)}" if self.left_out else ""
        said = [f"A wide table: {task}, {listed(self.workers, 30)} as workers{left_out}."]
        known = [name for name in self.left_out if plain(name) in GOLD]
        if gold is None and (known or self.few):
            name = next(iter([*known, *self.few]))
            filled = f", which has {self.few[name]} cells filled," if name in self.few else ""
            said.append(
                f"If {named(name)}{filled} holds known answers, say gold={name!r} (--gold-column"
                f" {named(name)})."
            )
        return tuple(said)


def shape_of(opened: SourceTable, layout: Layout, missing: Sequence[str]) -> Shape | None:
    """The columns of the table if it is wide; refused where that is in doubt."""
    if layout.workers:
        return _as_told(opened, layout, missing)
    names = [name for name in opened.names if name not in (layout.gold, layout.task)]
    long = {role: fitting(role, names, SYNONYMS[role]) for role in ("task", "worker", "label")}
    labelled = fitting("label", names, SURE_LABELS)
    if not layout.asked and ((long["label"] and long["worker"]) or (labelled and long["task"])):
        return None
    look = _Look.at(opened, layout, missing)
    groups = look.groups()
    voting = {column.name for group in groups for column in group}
    if not layout.asked and not (groups and voting.issuperset(long["worker"])):
        return None
    if not groups:
        raise DataError(
            f"{opened.origin} has no columns whose cells look like labels: say which are workers"
            f" with workers (--worker-columns); its columns are {likeliest(opened.names)}."
        )
    workers = tuple(column.name for column in groups[0])
    if len(groups) > 1 or (not layout.asked and (labelled or look.doubtful(groups[0]))):
        raise DataError(
            f"{opened.origin} looks wide: {listed(workers)} may be workers, which is in doubt; if"
            f" they are, say {_option(workers)}. Its columns are {likeliest(opened.names)}."
        )
    return look.shape(workers)


def _option(workers: Sequence[str]) -> str:
    """What to type to have these workers."""
    told = ",".join(map(named, workers))
    if len(told) > LONGEST_OPTION:
        return "workers, with all their names (--worker-columns)"
    return f"workers={list(workers)} (--worker-columns {told})"


def _as_told(opened: SourceTable, layout: Layout, missing: Sequence[str]) -> Shape:
    """The shape with the caller's columns of workers."""
    for name in layout.workers:
        if name not in opened.names:
            raise no_column(name, opened.names, opened.origin)
    if len({*layout.workers, layout.task}) <= len(layout.workers):
        raise UsageError("workers names a column twice, or that of the task: each is one worker.")
    return _Look.at(opened, layout, missing).shape(layout.workers)


# What columns hold


@dataclass(frozen=True)
class _Column:
    """What the first cells of a column hold: how many are filled, how many differ, the values as
    text if they are few and short, and whether there is a fraction."""

    name: str
    filled: int
    distinct: int
    values: frozenset[str]
    fraction: bool

    @property
    def weak(self) -> bool:
        """Whether such values are common among columns that are no workers: numbers, yes and no."""
        return all(value in YES_NO or _is_number(value) for value in self.values)

    @classmethod
    def of(cls, column: pl.Series, missing: Sequence[str]) -> _Column:
        cells = column.fill_nan(None) if column.dtype.is_float() else column
        if cells.dtype == pl.String:
            cells = cells.set(cells.is_in(list(missing)), None)
        filled, cells = len(cells) - cells.null_count(), cells.drop_nulls().unique()
        whole = cells.cast(pl.Int64, strict=False) if cells.dtype.is_float() else cells
        fraction = not whole.eq_missing(cells).all()
        text = plain_labels(cells if fraction else whole).unique()
        is_few = len(text) <= MOST_LABELS and (text.str.len_chars() <= LONGEST_LABEL).all()
        values = frozenset(text.to_list()) if is_few else frozenset[str]()
        return cls(column.name, filled, len(text), values, fraction)


@dataclass(frozen=True)
class _Look:
    """What the first rows of a table hold, of every column that could be of names or labels."""

    opened: SourceTable
    layout: Layout
    columns: Mapping[str, _Column]
    rows: int

    @classmethod
    def at(cls, opened: SourceTable, layout: Layout, missing: Sequence[str]) -> _Look:
        columns, rows = {}, 0
        for column in _first_rows(opened):
            rows = len(column)
            with suppress(DataError):
                require_plain(opened.origin, column.dtype, column.name)
                columns[column.name] = _Column.of(column, missing)
        return cls(opened, layout, columns, rows)

    def groups(self) -> list[list[_Column]]:
        """Columns that share values, the largest group first; without any, all columns of labels,
        if the table is said to be wide."""
        mine = (self.layout.gold, self.layout.task, self.opened.index_name)
        voting = [c for n, c in self.columns.items() if n not in mine and _may_vote(n) and c.values]
        groups = [group for group in _sharing(voting) if len(group) > 1]
        lone = [column for column in voting if not self._names_rows(column)]
        if not groups and self.layout.asked and lone:
            return [lone]
        return sorted(groups, key=len, reverse=True)

    def doubtful(self, group: Sequence[_Column]) -> bool:
        """Whether a column of the group may be something else: by its name, or, where there are
        other columns too, by a number, a yes or a no in it that no other of the group has."""
        columns_with = Counter(value for column in group for value in column.values)
        others = len(self.columns) > len(group) + 1
        return self.rows < 2 or any(
            DOUBTFUL.fullmatch(plain(column.name))
            or (others and column.weak and any(columns_with[v] == 1 for v in column.values))
            for column in group
        )

    def shape(self, workers: Sequence[str]) -> Shape:
        task = self._task(workers)
        used = {task, self.layout.gold, *workers}
        filled = {name: self.columns[name].filled for name in workers if name in self.columns}
        few = {
            name: f"{cells:,} of {self.rows:,}"
            for name, cells in filled.items()
            if cells < MOSTLY_EMPTY * self.rows
        }
        few = few if len(few) == 1 < len(filled) else {}  # else it is how this crowd works
        left_out = (name for name in self.opened.names if name not in used)
        return Shape(task, tuple(workers), tuple(left_out), few)

    def _task(self, workers: Sequence[str]) -> str | None:
        """The column of the task, by its name, or as the only one whose cells all differ; None for
        the names or numbers of rows."""
        opened, told = self.opened, self.layout.task
        if told is not None and told not in opened.names:
            raise no_column(told, opened.names, opened.origin)
        if told is not None or opened.index_name is not None:
            return told or opened.index_name
        names = [n for n in opened.names if n not in workers and n != self.layout.gold]
        strong, weak = SYNONYMS["task"]
        found = fitting("task", names, (strong, IDS, weak))
        if not found and opened.index is None:
            columns = (self.columns[name] for name in names if name in self.columns)
            found = [c.name for c in columns if self._names_rows(c) and plain(c.name) not in GOLD]
        if len(found) > 1:
            raise DataError(
                f"{opened.origin} looks wide, with the workers {listed(workers)}, but the task"
                f" may be {' or '.join(map(named, found[:5]))}: say which with task_column (--wide"
                f" --task-column {named(found[0])})."
            )
        if not found and len(opened.files) > 1:
            raise DataError(
                f"{opened.origin} looks wide, but has no column of the task, and rows of several"
                " files have no numbers: say which it is with task_column (--task-column)."
            )
        return found[0] if found else None

    def _names_rows(self, column: _Column) -> bool:
        return column.distinct == column.filled == self.rows and not column.fraction


def _first_rows(opened: SourceTable) -> Iterator[pl.Series]:
    names = list(opened.names)
    if opened.files and not opened.whole:
        file = opened.files[0]
        yield from file.ask(file.select(names).select(by_name(names)).head(ROWS).collect)
        return
    for name in names:
        with suppress(DataError):  # of mixed types, and neither a name nor a label
            yield opened.take([name])[name].head(ROWS)


def _may_vote(name: str) -> bool:
    """Whether a column of this name may be a worker's."""
    return plain(name) not in NO_WORKERS


def _sharing(columns: Sequence[_Column]) -> list[list[_Column]]:
    """Columns in groups, those of each of which share values with others of it."""
    groups: dict[int, list[_Column]] = {}
    group_of: dict[str, int] = {}
    for number, column in enumerate(columns):
        mine = {group_of[value] for value in column.values if value in group_of}
        groups[number] = [*(one for g in sorted(mine) for one in groups.pop(g)), column]
        values = (value for member in groups[number] for value in member.values)
        group_of |= dict.fromkeys(values if mine else column.values, number)
    place = {column.name: number for number, column in enumerate(columns)}
    return [sorted(group, key=lambda column: place[column.name]) for group in groups.values()]


def _is_number(text: str) -> bool:
    try:
        return float(text) == float(text)
    except ValueError:
        return False


# Votes of a wide table


def unpivoted(
    opened: SourceTable, shape: Shape, layout: Layout, missing: Sequence[str]
) -> SourceTable:
    """The table with a row for each cell that is filled, row by row."""
    wanted = list(dict.fromkeys([*([shape.task] if shape.task else []), *shape.workers]))
    unpivot = _Unpivot.of(opened, shape, [] if opened.text else missing)
    files = [] if opened.whole else [unpivot.file(file, wanted) for file in opened.files]

    def rows() -> list[pl.LazyFrame]:
        if files:
            return [file.select([]) for file in files]
        index = None if opened.index is None else opened.index()
        return [unpivot.rows(opened.take(wanted).lazy(), index)]

    def ask(query: pl.LazyFrame) -> pl.DataFrame:
        frame: pl.DataFrame = files[0].ask(query.collect) if files else query.collect()
        return frame

    def take(names: list[str]) -> pl.DataFrame:
        votes = [ask(unpivot.votes(query)).select(by_name(names)) for query in rows()]
        return pl.concat(votes, how="vertical_relaxed")

    def silent() -> int:
        return sum(ask(query.select(unpivot.is_silent().sum())).item() for query in rows())

    task = unpivot.task
    dtypes = {task: opened.dtypes[task]} if task in opened.dtypes else {}
    return replace(
        opened,
        names=(task, "worker", "label"),
        take=take,
        dtypes=dtypes,
        files=files,
        roles={"task": task, "worker": "worker", "label": "label"},
        notes=(*opened.notes, *shape.notes(layout.gold)),
        silent=silent,
    )


@dataclass(frozen=True)
class _Unpivot:
    """How rows become votes: the columns, the name of the task's column afterwards, the type of
    all cells, and the words for those that are empty."""

    shape: Shape
    task: str
    dtype: pl.DataType
    missing: Sequence[str]
    numbered: bool

    @classmethod
    def of(cls, opened: SourceTable, shape: Shape, missing: Sequence[str]) -> _Unpivot:
        task = "task" if shape.task in (None, "worker", "label") else str(shape.task)
        workers = list(shape.workers)
        if opened.files and not opened.whole:
            schemas = [file.ask(file.select(workers).collect_schema) for file in opened.files]
        else:
            schemas = [opened.take(workers).schema]
        types = [(name, schema[name]) for schema in schemas for name in workers]
        for name, dtype in types:
            require_plain(opened.origin, dtype, name)
        return cls(shape, task, _common(types, opened.origin), missing, opened.library == "pandas")

    def file(self, file: File, wanted: list[str]) -> File:
        """The file as a query of rows, which `long` makes votes of."""

        def select(_: list[str]) -> pl.LazyFrame:
            return self.rows(file.select(wanted), None)

        workers = len(self.shape.workers)
        return File(select, file.any_row, file.ask, file.path, self.votes, workers)

    def rows(self, query: pl.LazyFrame, index: pl.Series | None) -> pl.LazyFrame:
        """The task and the cells of each row, under names that nothing else has."""
        cells = [by_name(name).alias(str(i)) for i, name in enumerate(self.shape.workers)]
        if self.shape.task is not None:
            return query.select(by_name(self.shape.task).alias("task"), *cells)
        if index is not None:
            return query.select(cells).with_columns(index.alias("task"))
        number = pl.col("task").cast(pl.Int64)
        return query.select(cells).with_row_index("task").with_columns(number)

    def votes(self, query: pl.LazyFrame) -> pl.LazyFrame:
        names = pl.Series(list(self.shape.workers))
        workers = pl.Series([retyped(names) if self.numbered else names])
        long = query.select(
            pl.col("task").alias(self.task),
            pl.lit(workers).alias("worker"),
            pl.concat_list(self._cells()).alias("label"),
        )
        return long.explode("worker", "label").filter(pl.col("label").is_not_null())

    def is_silent(self) -> pl.Expr:
        """Whether all cells of a row are empty."""
        return pl.all_horizontal(cell.is_null() for cell in self._cells())

    def _cells(self) -> list[pl.Expr]:
        return [self._cell(pl.col(str(i))) for i in range(len(self.shape.workers))]

    def _cell(self, cell: pl.Expr) -> pl.Expr:
        cell = cell.cast(self.dtype)
        if self.dtype.is_float():
            cell = cell.fill_nan(None)
        if self.dtype == pl.String and self.missing:
            return pl.when(~cell.is_in(list(self.missing))).then(cell)
        for number in whole_numbers(self.missing) if self.dtype.is_numeric() else ():
            as_wide = pl.Int64 if self.dtype.is_integer() else pl.Float64  # as any number needs
            cell = pl.when(cell.cast(as_wide, strict=False).ne_missing(number)).then(cell)
        return cell


def _common(types: Sequence[tuple[str, pl.DataType]], origin: str) -> pl.DataType:
    """The type that all cells can have."""
    known = {dtype: name for name, dtype in types if dtype != pl.Null}
    if len(known) < 2:
        return next(iter(known), pl.String())
    words = (pl.String, pl.Categorical, pl.Enum)
    if all(dtype in words for dtype in known):
        return pl.String()
    if all(dtype.is_integer() for dtype in known):
        return pl.Int64()
    if all(dtype.is_numeric() for dtype in known):
        return pl.Float64()
    mixed = " and ".join(f"{dtype} in {named(name)}" for dtype, name in known.items())
    raise DataError(f"{origin} has workers' labels of several types, {mixed}: make them one type.")
