"""What a model is: options, and a few phases that are each a fold over blocks of tasks.

Sweeping a block of tasks under the current parameters gives statistics; statistics add; parameters
are estimated from the sum. A phase does that until it has converged. A model is a frozen dataclass
of options with pure methods, and its own last phase: what an algorithm does first (count the vote,
gather moments) is an opening phase of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    Unpack,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from numpy.typing import NDArray

from quorate.card import Listing, card
from quorate.errors import UsageError
from quorate.kernels import Floats, Rows
from quorate.labels import BLOCK_SIZE, FEW_BLOCKS, LEAST_BLOCK, Labels
from quorate.options import Option, Options, options_of

if TYPE_CHECKING:
    from quorate.aggregation import AggregateArguments
    from quorate.result import Result

Ties = Literal["first", "random", "shared"]
P = TypeVar("P")  # parameters
L = TypeVar("L")  # local state: of the tasks of a block, which it never leaves
S = TypeVar("S")  # statistics: a NamedTuple of arrays and numbers that add
T = TypeVar("T")


class Step(NamedTuple):
    """What one sweep showed: the objective, the marginal log-likelihood of the votes, how far the
    class marginals had moved, how many answers changed, whether answers were hard, how many tasks
    were impossible (their evidence is zero, and left out of the sums), and of a mixture how many of
    its models have not converged."""

    objective: float
    log_likelihood: float | None
    moved: float = np.inf
    changed: int = -1
    hard: bool = False
    impossible: int = 0
    unfinished: int = 0


class Calibration(NamedTuple):
    """How far a method's confidences were off on public data: the log-odds of the error that they
    say were too low by the ``bias``, give or take the ``spread`` (root mean square)."""

    bias: float = 2.0
    spread: float = 1.2


INTERMEDIATES = 3  # tables of one matrix that are made on the way to the next parameters


class Room(NamedTuple):
    """Numbers that a fit has for each worker, at most: those of its parameters, of the sums of one
    sweep, and of what is made of these while both are there."""

    held: int
    summed: int
    made: int


Start = Literal["last", "first", "nothing"]


class Phase(ABC, Generic[P, L, S]):
    """One fold of an algorithm, repeated until it has converged."""

    @property
    def max_iter(self) -> int:
        """Rounds at most."""
        return 1

    @property
    def starts_from(self) -> Start:
        """The local state that a sweep goes by: that of the sweep before, that of `begin` in every
        sweep, or none at all. Only the first has to be kept where blocks are in files."""
        return "last"

    def parts(self, params: P) -> Sequence[AnyPhase]:
        """The phases that a round consists of, each under the parameters that the one before has
        estimated: this one, after others where all sums at once would be too large. None where no
        round has anything left to do."""
        return (self,)

    @abstractmethod
    def sweep(self, block: Labels, params: P, local: L) -> tuple[L, S]:
        """The next local state of a block, and the block's statistics."""

    @abstractmethod
    def estimate(self, stats: S, params: P) -> P:
        """The next parameters, from the statistics of all blocks."""

    def progress(self, stats: S, params: P) -> Step | None:
        """What the sweep showed; None where there is nothing to show."""
        return None

    def converged(self, steps: Sequence[Step]) -> bool:
        """Whether this sweep was the last of the phase; a single pass unless a phase says so."""
        return True

    def sums(self, stats: S) -> tuple[Floats, ...] | None:
        """What of the statistics is extrapolated to save sweeps; None where nothing is."""
        return None

    def with_sums(self, stats: S, sums: tuple[Floats, ...]) -> S:
        """The statistics with other such sums."""
        return stats


AnyPhase = Phase[Any, Any, Any]


@dataclass(frozen=True, eq=False)
class Opening(AnyPhase):
    """One pass that finds the first parameters: a count of each block as it begins, and the
    estimate from their sum."""

    count: Callable[[Labels, Any], Any]
    first: Callable[[Any], Any]

    @property
    def starts_from(self) -> Start:
        return "first"

    def sweep(self, block: Labels, params: None, local: Any) -> tuple[Any, Any]:
        return local, self.count(block, local)

    def estimate(self, stats: Any, params: None) -> Any:
        return self.first(stats)


def objective_settled(steps: Sequence[Step], tol: float) -> bool:
    """Whether the objective has changed by no more than `tol`, relatively."""
    if len(steps) < 2:
        return False
    before, now = steps[-2].objective, steps[-1].objective
    return abs(now - before) <= tol * abs(now)


@dataclass(frozen=True, eq=False)
class Model(Phase[P, L, S], Options):
    """An algorithm: a frozen dataclass of options with pure methods. It is its own last phase.

    ``local`` is per-task state and never leaves its block. ``stats`` is a NamedTuple of arrays and
    numbers that are added field by field, in block order; fields of parameters and statistics that
    have rows for each worker are named by the decorator `by_worker`.
    """

    params_type: ClassVar[Any]
    stats_type: ClassVar[Any]
    takes_weights: ClassVar[bool] = False  # a vote may count for more or less than 1
    two_classes_only: ClassVar[bool] = False
    learns_from_features: ClassVar[bool] = False
    in_memory_only: ClassVar[bool] = False  # it needs all votes at once
    orders_classes: ClassVar[bool] = False  # classes are grades to it, in the order of their codes

    def __init_subclass__(cls) -> None:
        """Note the types of parameters and statistics, by which the base class is subscripted."""
        super().__init_subclass__()
        kinds = [kind for base in vars(cls).get("__orig_bases__", ()) for kind in get_args(base)]
        if kinds and hasattr(kinds[0], "_fields"):
            cls.params_type, cls.stats_type = kinds[0], kinds[-1]

    @property
    def ties(self) -> Ties:
        """How ties of the final answers are broken."""
        return "first"

    @property
    def seed(self) -> int:
        return 0

    def n_matrices(self, n_classes: int) -> int:
        """How many matrices of classes by classes it holds for each worker."""
        return 0

    def room(self, n_workers: int, n_classes: int) -> Room:
        """What it needs room for."""
        matrices = self.n_matrices(n_classes)
        table = n_classes * (1 + n_classes * matrices)
        one = n_classes * (1 + n_classes * min(matrices, 1))
        return Room(table, table, table + INTERMEDIATES * one)

    @property
    def name(self) -> str:
        """The name of the method that this is, such as ``"fast-dawid-skene"``."""
        from quorate.models import method_name

        return method_name(self)

    def phases(self, shape: Labels) -> tuple[AnyPhase, ...]:
        """The opening phases, then the model itself; `shape` are the labels without their tasks."""
        return (self,)

    def with_votes(self, labels: Labels) -> Model[P, L, S]:
        """The model to fit to these labels; another one only where it is `in_memory_only`."""
        return self

    def start(self, shape: Labels) -> P | None:
        """The parameters to begin with; None to begin from the local state of ``begin``."""
        return None

    def begin(self, block: Labels) -> L:
        """The local state before the first sweep."""
        return cast("L", None)

    @abstractmethod
    def posterior(self, block: Labels, params: P, local: L) -> Floats:
        """The final belief ``[task, class]``."""

    def learned(self, block: Labels, params: P, local: L, posterior: Floats) -> Floats:
        """The belief that workers are judged by: the posterior, unless a model says otherwise."""
        return posterior

    def per_task(self, block: Labels, params: P, local: L) -> Mapping[str, Floats]:
        """More columns for the table of labels, such as each task's difficulty, by name."""
        return {}

    def log_joint(self, block: Labels, params: P, *args: Any, **per_task: Any) -> Floats | None:
        """What the votes add up to for each task and class, by which labels are explained; None
        where the posterior is not a product of a factor for each vote."""
        return None

    def newcomer(self, stats: S, params: P) -> P:
        """The parameters with one more worker, who is the crowd's average."""
        return params

    def confusion(self, params: P) -> Floats | None:
        """``[worker, truth, label]``, where the model has such a thing."""
        return None

    def history(self, stats: S, params: P) -> Floats | None:
        """The expected counts ``[worker, truth, label]``, for `worker_prior` of a later fit."""
        return None

    def calibration(self, params: P) -> Calibration:
        """How far the confidences may be off."""
        return Calibration()

    def mixture(self, stats: S, params: P) -> dict[str, Any] | None:
        """Of a model that mixes others: their weights, why these, and how far they differ."""
        return None

    def notes(self, params: P) -> tuple[str, ...]:
        """Sentences that the user should know of how the fit went."""
        return ()

    # As users of other libraries type it.

    def fit(self, votes: Any, **how: Unpack[AggregateArguments]) -> Result:
        """The result of this model on votes: `quorate.aggregate` with this model as its method."""
        from quorate.aggregation import aggregate

        return aggregate(votes, self, **how)

    def fit_predict(self, votes: Any, **how: Unpack[AggregateArguments]) -> Any:
        """The table of labels that `fit` gives."""
        return self.fit(votes, **how).labels

    def predict(self, votes: Any = None, **how: Any) -> Any:
        """Always refused: a model holds options, and a `Result` what was learned."""
        raise UsageError(
            f"{type(self).__name__} holds options, not what was learned: fit(votes) returns a"
            " Result, whose predict labels new votes."
        )


AnyModel = Model[Any, Any, Any]


@dataclass(frozen=True)
class Method:
    """A model with the settings that give a method its name, and the defaults that go with them."""

    name: str
    model: type[AnyModel]
    summary: str
    paper: str = "-"
    settings: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def options(self) -> Mapping[str, Option]:
        """What the method can be told, beyond what makes it what it is, by name."""
        options = options_of(self.model)
        return {
            name: replace(each, default=self.defaults.get(name, each.default))
            for name, each in options.items()
            if name not in self.settings and each.has_effect(self.settings)
        }

    def __repr__(self) -> str:
        return f"Method({self.name}: {self.summary})"

    def _repr_html_(self) -> str:
        facts = {"what it does": self.summary, "paper": self.paper}
        rows = [(each.name, str(each.default), each.doc) for each in self.options.values()]
        listing = Listing("Options", ("option", "default", "what it is"), rows)
        return card(f"Method: {self.name}", facts, [listing] if rows else [])

    @property
    def two_classes_only(self) -> bool:
        return self.model.two_classes_only

    @property
    def takes_weights(self) -> bool:
        """Whether a vote may count for more or less than 1."""
        return self.model.takes_weights


def by_worker(*names: str) -> Callable[[type[T]], type[T]]:
    """Mark the fields of a NamedTuple that have rows for each worker, so that what travels is only
    what a part of the crowd needs.

    Examples:
        >>> @by_worker("counts")
        ... class Stats(NamedTuple):
        ...     counts: Floats
        >>> Stats(np.zeros(3)).by_worker
        ('counts',)
    """

    def mark(kind: type[T]) -> type[T]:
        kind.by_worker = names  # type: ignore[attr-defined]
        return kind

    return mark


def of_workers(params: T, workers: NDArray[np.integer], n_workers: int) -> T:
    """The parameters with the rows of these workers only.

    Examples:
        >>> Params = by_worker("table")(NamedTuple("Params", [("table", Floats)]))
        >>> of_workers(Params(np.arange(6)), np.array([2]), 3).table
        array([4, 5])
    """

    def rows(table: Any) -> Any:
        each = table.reshape(n_workers, -1, *table.shape[1:])[workers]
        return each.reshape(-1, *table.shape[1:])

    kept: Any = params
    return kept._replace(**{name: rows(getattr(kept, name)) for name in kept.by_worker})  # type: ignore[no-any-return]


def restored(kind: Any, saved: Any) -> Any:
    """A NamedTuple from the dictionary of its fields that was saved, and those within it; a tuple
    of such where there is one for each threshold between ordered classes."""
    if isinstance(saved, Mapping):
        types = get_type_hints(kind)
        return kind(**{name: restored(_tuple_type(types[name]), of) for name, of in saved.items()})
    if kind is not None and isinstance(saved, (tuple, list)):
        return tuple(restored(kind, part) for part in saved)
    return saved


def _tuple_type(annotation: Any) -> Any:
    """The NamedTuple among the types that a field, or each of its parts, can have."""
    several = get_origin(annotation) in (Union, UnionType, tuple)
    kinds = get_args(annotation) if several else (annotation,)
    return next((kind for kind in kinds if hasattr(kind, "_fields") and kind is not Rows), None)


def dense(stats: Any) -> Any:
    """The statistics, or a field of them, with every row in its place."""
    if isinstance(stats, Rows):
        return stats.dense()
    return _each(dense, stats) if isinstance(stats, tuple) else stats


def add(total: Any, stats: Any) -> Any:
    """The sum of two statistics, field by field; the total's arrays are reused."""
    if total is None:
        return dense(stats)
    if isinstance(stats, Rows):
        stats.add_to(total)
        return total
    if isinstance(stats, tuple):
        return _each(add, total, stats)
    total += stats
    return total


RUNS = 32  # or more, with very many blocks; enough for a slower core to get fewer
RUNS_OF_LARGE = 8  # the same where tables are large: sums of some wait for those of others
WORTH_A_TABLE = 2  # labels for each row of a table that is made for them
LARGE_TABLE = 64e6  # bytes of statistics, of which as few as can be are to wait


def has_large_tables(n_workers: int, n_classes: int, n_matrices: int = 1) -> bool:
    """Whether so many matrices for each worker are so much that room for them has to be spared."""
    return 8 * n_matrices * n_workers * n_classes**2 > LARGE_TABLE


def run_length(n_blocks: int, labels: Labels) -> int:
    """Number of blocks in a run: the statistics of a run are added one after the other, in a table
    of its own, which has to be worth it; the runs are shared among threads."""
    n_labels = n_blocks * (LEAST_BLOCK if n_blocks < FEW_BLOCKS else BLOCK_SIZE)
    height = labels.n_workers * labels.n_classes
    is_large = has_large_tables(labels.n_workers, labels.n_classes)
    few, blocks = (RUNS_OF_LARGE, 4 * RUNS) if is_large else (RUNS, RUNS)
    most = max(few, n_blocks // blocks)
    n_runs = min(most, max(1, n_labels // (WORTH_A_TABLE * height)))
    even = 1 << (n_runs.bit_length() - 1)
    return -(-n_blocks // even)


def branches(first: int, last: int, n: int) -> list[range]:
    """Some of `n` runs, consecutive ones, as the largest branches of their `Tree`.

    Examples:
        >>> branches(0, 5, 10), branches(5, 10, 10)
        ([range(0, 4), range(4, 5)], [range(5, 6), range(6, 8), range(8, 10)])
    """
    found: list[range] = []
    while first < last:
        size = 1
        while first % (2 * size) == 0 and min(first + 2 * size, n) <= last and first + size < n:
            size *= 2
        found.append(range(first, min(first + size, n)))
        first = found[-1].stop
    return found


class Tree:
    """Adds the sums of runs of blocks pairwise, those sums pairwise, and so on: an order that
    depends on their number alone, so that any engine gives the same bits. What is given to it is
    its own. Those who add in another place, by a function of their own, may give it branches.

    Examples:
        >>> total = Tree()
        >>> for number in range(20):
        ...     total.add((number, 1.0))
        >>> total.result()
        (190, 20.0)
    """

    def __init__(self, add: Callable[[Any, Any], Any] = add) -> None:
        self._sum = add
        self._branches: list[tuple[int, Any]] = []  # sums of 1, 2, 4, ... runs, the larger first

    def add(self, run: Any, size: int = 1) -> None:
        """Add the sum of a run, or of a branch of so many."""
        total = run
        while self._branches and self._branches[-1][0] == size:
            total = self._sum(self._branches.pop()[1], total)
            size *= 2
        self._branches.append((size, total))

    def result(self) -> Any:
        """The sum of all; nothing can be added afterwards."""
        total = None
        for _, branch in reversed(self._branches):
            total = branch if total is None else self._sum(branch, total)
        return total


def most_sums(n_runs: int, under_way: int) -> int:
    """The maximum number of sums of runs that there are at a time, where so many are being made, or
    waiting for the first of these, beside those that wait in their `Tree`.

    Examples:
        >>> most_sums(1, 2), most_sums(8, 1), most_sums(8, 2), most_sums(32, 2)
        (1, 4, 4, 6)
    """
    return max(run.bit_count() + min(under_way, n_runs - run) for run in range(n_runs))


def _each(function: Callable[..., Any], *tuples: Any) -> Any:
    """The function of the tuples' fields, as a tuple of their kind."""
    kind = type(tuples[0])
    fields = map(function, *tuples)
    return kind(*fields) if hasattr(kind, "_fields") else tuple(fields)
