"""Votes in, trusted labels out: read, encode, fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from quorate.arguments import refuse_unknown, some_of
from quorate.by_name import in_codes
from quorate.engines import Scale, engine_for
from quorate.engines.engine import Engine
from quorate.engines.threads import Threads
from quorate.errors import UsageError, require_probability
from quorate.fitting import Fit, Request, require_room, require_sensible, run
from quorate.heldout import Gain, gain_of_order, with_feature_weight
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.model import AnyModel
from quorate.models import METHODS, Auto, Ordered, Taught, method_name, named
from quorate.result import Result
from quorate.trust import Check, decide, n_decided, scale_of
from quorate.votes import (
    KnownAnswers,
    Reading,
    Votes,
    gold_for,
    in_class_order,
    read_features,
    read_votes,
    shown,
    with_features,
    with_gold,
)
from quorate.votes import worker_kinds as kinds_of
from quorate.votes.doubts import MANY_NUMBERS, are_numbers, doubts
from quorate.votes.several import known_answers, never_chosen, questions, read_answer_sets
from quorate.votes.store import Progress, Storage

if TYPE_CHECKING:
    from quorate.multilabel import Multilabel

MANY_VOTES = 2_000_000  # with which known answers are not compared unasked
# With no more votes, and so many numbers as classes, it is tested whether these have an order. More
# numbers are doubted without a test, and of fewer nothing can be told.
FEW_VOTES, SCALE_SIZE = 200_000, (4, MANY_NUMBERS - 1)

SHOWN_GRADES = 6
Method = str | AnyModel | Callable[[Labels], Floats]


class Tuning(TypedDict, total=False):
    """Options that most methods have; a method's other options are those of its class."""

    max_iter: int
    tol: float
    smoothing: float
    seed: int


class AggregateOptions(Reading, Scale, Tuning, total=False):
    """Keyword arguments of `aggregate` beside those in its signature."""

    discount: bool | None
    worker_kinds: Any
    multilabel: bool
    separator: str | None
    max_error: float | None


class AggregateArguments(AggregateOptions, total=False):
    """All arguments of `aggregate` beside the votes and the method."""

    gold: Any
    features: Any
    ordered: bool | Sequence[Any]
    min_confidence: float
    progress: Progress | None


def aggregate(
    votes: Any,
    method: Method = "auto",
    *,
    gold: Any = None,
    features: Any = None,
    ordered: bool | Sequence[Any] | None = False,
    min_confidence: float = 0.0,
    progress: Progress | None = None,
    **how: Unpack[AggregateOptions],
) -> Result:
    """Turn votes into labels with confidences and workers with qualities.

    `votes` is a path or a list of paths (CSV, TSV, JSON, JSON lines, Parquet or Excel; ``"-"`` for
    standard input), the export of another tool, the address of a database (with a `query` or a
    `table`), a pandas or polars frame, an Arrow table, a Hugging Face dataset, an iterable of
    (task, worker, label), or a matrix of tasks by workers with -1 or NaN where there is no vote.
    Columns are task, worker and label unless `task_column`, `worker_column` and `label_column` say
    otherwise. A table may be `wide`: `workers` are then the names of its columns of workers. A
    worker's repeated answers to a task all count, or only the first or last with `repeats`. Cells
    in `missing` are missing, and with `tidy` labels that differ only in spaces or case are one.
    `keep` names columns of the tasks, such as their text, that the labels then have too.

    `method` is a name that `quorate.methods()` lists, a model with its options, such as
    ``quorate.DawidSkene(smoothing=0.1)``, or a function from `Labels` to a posterior ``[task,
    class]``. `max_iter`, `tol`, `smoothing` and `seed` can be given here too, for a method that
    has them. Answers whose confidence is below `min_confidence` are left out: the label is null.
    With `max_error` as many answers are decided as can be such that at most this share of them is
    wrong: with enough known answers as a promise, otherwise as the model expects.

    `gold` holds known answers: a table of task and label, a mapping, or a column of the votes. They
    are kept fixed, and show how far confidences are off; ``"auto"`` also learns from them whose
    votes deserve more or less than the consensus gives them: see `quorate.Taught`.
    `ordered` says that classes have an order: True for that in which they sort, or a list of them.
    The method then runs on each threshold between them: see `quorate.Ordered`. `features` holds
    binary features of tasks, for a method that learns from them: a table of task and feature, or of
    task and a column of 0 and 1 for each feature. Tasks that have features and no votes are
    labelled too.

    With `discount` correlated workers, such as duplicates of one judge, count for less: see
    `quorate.independence`. By default that is so with ``"auto"``. `worker_kinds` says what each
    worker is, human or model for instance: a table of worker and kind, or a mapping. With
    `multilabel` a task may have several right answers: a worker's labels of a task, in rows of
    their own or in one with a `separator` between them, are all the options that the worker chose
    (a row without a label: none). Each option is a question of its own, yes or no, and the result
    is a `quorate.Multilabel`.

    Votes need not fit in memory. With a `memory` limit (such as ``"2GB"``), a `store` (a directory
    that is used again by the same votes) or ``engine="disk"`` they are spilled to disk; with
    ``engine="ray"`` or the `address` of a cluster they are shared among processes. The answers are
    the same. `resume` continues an interrupted fit in that `store`. `threads` is the number of
    threads, and `progress` a callback for the state of the work.

    Examples:
        >>> votes = [("1.jpg", "ann", "cat"), ("1.jpg", "bob", "cat"), ("1.jpg", "eve", "dog"),
        ...          ("2.jpg", "ann", "dog"), ("2.jpg", "bob", "dog"), ("2.jpg", "eve", "dog")]
        >>> aggregate(votes, "majority").labels["label"].to_list()
        ['cat', 'dog']
    """
    _refuse_unknown(how, method)
    require_probability("min_confidence", min_confidence)
    ordered = order_of(ordered)
    model = named(method, **some_of(how, Tuning))
    _require_able(model, features is not None, how)
    reading: Reading = some_of(how, Reading)
    max_error = _max_error(how, min_confidence)
    separator, several = _several(how, ordered, min_confidence)
    scale: Scale = some_of(how, Scale)
    with engine_for(progress, **scale) as engine:
        request = Request(engine, progress, bool(how.get("resume")), min_confidence)
        kinds = how.get("worker_kinds")
        plan = Plan(model, request, ordered, _discount(how, model), kinds, max_error)
        read = read_votes(
            votes,
            storage=_storage(engine, model, several),
            separator=separator,
            unlabelled=several,
            gold=gold,
            **reading,
        )
        if model.in_memory_only and engine.storage is not None:
            raise UsageError(
                f"{method_name(model)} needs all votes at once: leave out memory, store and engine."
            )
        if features is not None:
            read = with_features(read, read_features(features, reading))
        if several:
            found = None if read.known is None else read.known.rows
            sets = found if gold is None else read_answer_sets(gold, reading, separator, read)
            return _each_option(read, sets, plan, separator)
        known = read.known if gold is None else gold_for(votes, gold, reading)
        return _with_order_noted(fitted(read, known, plan), plan)


def fit(
    model: AnyModel,
    votes: Any,
    *,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Result:
    """Fit a model to votes as they are: whatever `aggregate` reads, or `Labels` in codes.

    `engine` sweeps the blocks (`quorate.Threads` on all cores by default).

    Examples:
        >>> task, worker, label = [0, 0, 0, 1, 1], [0, 1, 2, 0, 1], [1, 1, 0, 0, 0]
        >>> labels = Labels.from_codes(task, worker, label)
        >>> from quorate.models import DawidSkene
        >>> result = fit(DawidSkene(smoothing=0.1), labels)
        >>> result.answers
        array([1, 0], dtype=int32)
        >>> result.converged
        True
    """
    engine = engine or Threads()
    read = read_votes(votes, storage=engine.storage)
    model, notes = in_codes(model, read.codebook, check_arrays=False)
    return result_of(run(model, read.blocks, Request(engine, progress)), read.noted(*notes))


@dataclass(frozen=True)
class Plan:
    """How votes are fitted: the model, the request to run it, and the options beside."""

    model: AnyModel
    request: Request
    ordered: bool | Sequence[Any] = False
    discount: bool | None = False
    worker_kinds: Any = None
    max_error: float | None = None


def fitted(votes: Votes, gold: KnownAnswers | None, plan: Plan) -> Result:
    """Carry out the plan on votes that have been read: what every verb means by a fit."""
    if gold is not None:
        votes = with_gold(votes, gold)
    if not isinstance(plan.ordered, bool):
        votes = in_class_order(votes, plan.ordered)
    model, notes = in_codes(plan.model, votes.codebook)
    is_ordered = plan.ordered is not False or model.orders_classes
    votes = votes.noted(*doubts(votes, is_ordered), *notes, *_of_order(model, votes, plan))
    if plan.ordered is False:
        require_sensible(model, votes.blocks.shape)
    per_worker: dict[str, Sequence[Any]] = {}
    if plan.worker_kinds is not None:
        per_worker["kind"], notes = kinds_of(plan.worker_kinds, votes.codebook.workers)
        votes = votes.noted(*notes)
    if plan.discount is not False:
        votes, groups = _discounted(votes, model, plan)
        per_worker |= groups
    model, notes = with_feature_weight(model, votes.blocks, plan.request.engine)
    votes = votes.noted(*notes)
    if plan.ordered is not False and not model.orders_classes:
        model = Ordered(model)
    model, check = _taught(model, votes, plan)
    found = run(model, votes.blocks, plan.request)
    if found.gold_tally is not None:
        per_worker |= _on_gold(found.gold_tally)
    least = plan.request.min_confidence
    result = replace(
        result_of(found, votes), per_worker=per_worker, check=check, min_confidence=least
    )
    return result if plan.max_error is None else _decided(result, plan.max_error)


def _of_order(model: AnyModel, votes: Votes, plan: Plan) -> list[str]:
    """What is said of the order of words that are taken for grades."""
    classes = votes.codebook.classes
    if plan.ordered is not False or not model.orders_classes:
        return []
    if len(classes) < 3 or are_numbers(classes):
        return []
    said = ", ".join(str(name) for name in classes.head(SHOWN_GRADES))
    return [
        f"{model.name} takes the classes for grades in the order {said}"
        f"{', ...' if len(classes) > SHOWN_GRADES else ''}: ordered (--class-order) says another."
    ]


def _with_order_noted(result: Result, plan: Plan) -> Result:
    """The result with a note if numbers that are classes look like a scale."""
    votes = result.votes
    if not isinstance(plan.model, Auto) or plan.ordered is not False or votes is None:
        return result
    n_classes = len(votes.codebook.classes)
    if votes.blocks.n_labels > FEW_VOTES or not are_numbers(votes.codebook.classes):
        return result
    if not SCALE_SIZE[0] <= n_classes <= SCALE_SIZE[1] or plan.request.engine.storage is not None:
        return result
    labels = replace(votes.labels, gold=None)
    scale = scale_of(labels)
    if scale is None or not scale.is_one:
        return result
    gain = gain_of_order(plan.model, labels, plan.request.engine)
    return result if gain is None else replace(result, notes=(*result.notes, _of_scale(gain)))


def _of_scale(gain: Gain) -> str:
    """What is to be gained from the order of a scale, in a sentence."""
    found = "are predicted no better: there is little to gain"
    if gain.is_sure:
        better = "better" if gain.mean > 0 else "worse"
        found = f"are predicted {better}, by {abs(gain.mean):.3f} nats a vote"
    return (
        "The labels look ordered: votes that differ are nearer to each other than by chance. With"
        f" ordered (--ordered) held-out votes {found}."
    )


def _taught(model: AnyModel, votes: Votes, plan: Plan) -> tuple[AnyModel, Check | None]:
    """The model, corrected by known answers if it is auto, and how its answers compare with these
    where they were hidden."""
    learns = isinstance(model.model if isinstance(model, Ordered) else model, Auto)
    if votes.blocks.shape.gold is None or model.in_memory_only:
        return model, None
    if not learns and plan.max_error is None and votes.blocks.n_labels > MANY_VOTES:
        return model, None  # nobody waits for further fits that were not asked for
    from quorate.crossfit import crossfit, judged
    from quorate.teaching import teach  # slow to import

    if isinstance(model, Auto):
        model = judged(model, votes.blocks, plan.request)
    cross = crossfit(model, votes.blocks, plan.request)
    if cross is None:
        return model, None
    if not learns:
        return model, cross.check()
    lesson = teach(cross)
    return Taught(model, *lesson.correction), cross.check(lesson.posterior)


def _decided(result: Result, max_error: float) -> Result:
    """The result with as many answers decided as the error allows."""
    decision = decide(result.overview, result.shift, result.check, max_error)
    undecided = result.overview.tasks - n_decided(result.overview, decision.min_confidence)
    return replace(
        result,
        decision=decision,
        min_confidence=decision.min_confidence,
        overview=result.overview._replace(undecided=undecided),
        notes=(*result.notes, decision.note),
    )


def _on_gold(tally: Floats) -> dict[str, Sequence[Any]]:
    """Columns of each worker's labels on tasks with gold answers, and the share that is right."""
    labels = tally.sum(axis=1)
    right = [float(r / n) if n else None for r, n in zip(tally[:, 0], labels, strict=True)]
    return {"gold_labels": labels.astype(int).tolist(), "gold_accuracy": right}


def result_of(found: Fit, votes: Votes) -> Result:
    """The fit with the names of the votes."""
    return Result(
        **{name: getattr(found, name) for name in Fit.__dataclass_fields__ if name != "notes"},
        notes=(*votes.notes, *found.notes),
        codebook=votes.codebook,
        kind=votes.kind,
        read=votes.report,
        method=method_name(found.model),
        votes=votes,
        items=votes.items,
    )


def _discounted(
    votes: Votes, model: AnyModel, plan: Plan
) -> tuple[Votes, dict[str, Sequence[Any]]]:
    """The votes with those of correlated workers discounted, and the column of groups; unchanged if
    it was neither asked for nor needed."""
    from quorate.trust.correlated import (  # slow to import
        discount_note,
        discounted,
        group_column,
        groups_among,
    )

    groups = groups_among(votes.blocks, model.seed, plan.request.engine)
    if not groups and plan.discount is None:
        return votes, {}
    column: dict[str, Sequence[Any]] = {"group": group_column(groups, len(votes.codebook.workers))}
    if groups:
        votes = votes.with_blocks(votes.blocks.change(partial(discounted, groups=groups)))
    return votes.noted(discount_note(groups)), column


def _each_option(votes: Votes, gold: Any, plan: Plan, separator: str | None) -> Multilabel:
    """Carry out the plan for every option by itself."""
    from quorate.multilabel import Multilabel  # slow to import

    names = votes.codebook.classes
    chosen = sum(int((block.label >= 0).sum()) for block in votes.blocks)
    known: Any = repeat(None)
    if gold is not None:
        votes = votes.noted(*never_chosen(gold, names))
        known = known_answers(gold, names)
    results = {
        name: fitted(replace(asked, notes=()), answers, plan)
        for name, asked, answers in zip(names, questions(votes), known, strict=False)
    }
    return Multilabel.of(results, votes, chosen, separator)


def order_of(ordered: Any) -> bool | Sequence[Any]:
    """Whether classes have an order, or which."""
    if ordered is None or isinstance(ordered, (bool, np.bool_)):
        return bool(ordered)
    if isinstance(ordered, str) or not isinstance(ordered, Iterable):
        raise UsageError(f"ordered is True, False, or a list of the classes, not {shown(ordered)}.")
    return list(ordered)


def _several(
    how: AggregateOptions, ordered: bool | Sequence[Any], min_confidence: float
) -> tuple[str | None, bool]:
    """The separator of labels, and whether there may be several right answers."""
    separator, several = how.get("separator"), bool(how.get("multilabel"))
    if separator is not None and not several:
        raise UsageError("separator is for several right answers: say multilabel (--multilabel).")
    if separator == "":
        raise UsageError("separator is empty: say what stands between a worker's labels.")
    if several and how.get("repeats", "count") != "count":
        raise UsageError("repeats cannot be told from several right answers: leave it at count.")
    if several and ordered is not False:
        raise UsageError("ordered is for one right answer: options of several have no order.")
    if several and min_confidence:
        raise UsageError("min_confidence is for one right answer: leave it out.")
    return separator, several


def _max_error(how: AggregateOptions, min_confidence: float) -> float | None:
    """The share of the decided answers that may be wrong."""
    max_error = how.get("max_error")
    if max_error is None:
        return None
    require_probability("max_error", max_error)
    if not max_error:
        raise UsageError("max_error is above 0: no answer is quite certain.")
    if min_confidence:
        raise UsageError("max_error finds the confidence itself: leave min_confidence out.")
    if how.get("multilabel"):
        raise UsageError("max_error is for one right answer: leave it out.")
    return float(max_error)


def discount_of(model: AnyModel, asked: bool | None) -> bool | None:
    """Whether correlated workers are discounted: with auto, unless the caller says otherwise.

    None means that nobody asked, and that there is no note where nothing is found."""
    if asked and not model.takes_weights:
        able = ", ".join(m for m in METHODS if METHODS[m].takes_weights)
        raise UsageError(f"{method_name(model)} cannot discount votes: {able} can.")
    if asked is None:
        return None if isinstance(model, Auto) else False
    return asked


def _discount(how: AggregateOptions, model: AnyModel) -> bool | None:
    """The same for `aggregate`; options of several right answers are not discounted unasked."""
    asked = how.get("discount")
    return discount_of(model, False if asked is None and how.get("multilabel") else asked)


def _require_able(model: AnyModel, features: bool, how: AggregateOptions) -> None:
    """Refuse, before anything is read, what the model cannot do."""
    name = method_name(model)
    discount_of(model, how.get("discount"))
    if features and not model.learns_from_features:
        able = ", ".join(m for m in METHODS if METHODS[m].model.learns_from_features)
        raise UsageError(f"{name} does not learn from features: {able} does.")


def _storage(engine: Engine, model: AnyModel, several: bool) -> Storage | None:
    """The engine's storage, which refuses too many workers and classes while they are counted;
    options of several right answers are two classes each."""
    storage = engine.storage
    if storage is None or several:
        return storage
    return replace(storage, fits=partial(require_room, model, storage.memory, engine.n_threads))


def _refuse_unknown(how: AggregateOptions, method: Method) -> None:
    unknown = [name for name in how if name not in AggregateOptions.__annotations__]
    for name in unknown:
        owners = [m for m, method in METHODS.items() if name in method.options]
        if owners:
            meant = method if isinstance(method, str) and method in owners else owners[0]
            kind = METHODS[meant].model.__name__
            raise UsageError(
                f"{name} is an option of {', '.join(owners)}: give the method as an object, such as"
                f" quorate.{kind}({name}=...)."
            )
    refuse_unknown("aggregate", how, (*AggregateArguments.__annotations__, "method"))
