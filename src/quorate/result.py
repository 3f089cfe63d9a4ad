"""The result of a fit, by name: labels, workers and confidences; to save, and to predict with."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Unpack

import numpy as np
import polars as pl

from quorate import __version__, buffers, kernels, metrics, saving
from quorate.answers import STRATA, AnswersInMemory, Overview, Part
from quorate.card import MOST_ROWS
from quorate.engines.threads import Threads
from quorate.errors import DataError, QuorateError, UsageError
from quorate.fitting import Fit
from quorate.kernels import Codes, Floats
from quorate.labels import Codebook, Labels
from quorate.model import Step, dense, restored
from quorate.models import MODELS
from quorate.summary import as_text, summarise
from quorate.trust import (
    MOST_VOTES,
    Check,
    Decision,
    ExpectedError,
    Intervals,
    Share,
    Shift,
    Spread,
    accuracy_intervals,
    class_share_intervals,
    confusion_intervals,
    error_of_the_decided,
)
from quorate.trust.explanation import Case, Context, Explanation, explain
from quorate.votes import (
    Kind,
    Outputs,
    Reading,
    ReadReport,
    Votes,
    find,
    read_features,
    read_votes,
    shown,
    with_features,
)
from quorate.votes.items import item_of, with_columns_of
from quorate.votes.tables import in_parts, vote_table
from quorate.votes.writers import Outcome, write_for, writer_for

if TYPE_CHECKING:
    from quorate.report.plots import Plots

FORMAT = 3
PLAIN = ("method", "converged", "seconds", "per_worker", "min_confidence")  # in JSON as they are
MOST_TABLES, SMALL_ARRAY = 16, 2**16  # how large an array of a saved result may be
Frame = pl.DataFrame | pl.LazyFrame


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Result(Fit):
    """Answers with their confidence, and workers with their quality.

    Tables come in the caller's kind and with the caller's column names; of votes that are on disk
    those with a row for each task are polars queries, and arrays are read when they are asked for.
    ``posterior[task, class]`` and ``answers[task]`` (codes) are in the order of `labels`,
    ``tally[worker]`` (the expected number of right and of wrong labels) in that of `workers`,
    classes in that of `classes`. `votes` are those it was made of; they are not saved. `items` has
    the columns that are kept of tasks.
    """

    codebook: Codebook
    kind: Kind = Kind()
    read: ReadReport | None = None
    method: str = ""
    min_confidence: float = 0.0
    decision: Decision | None = None
    check: Check | None = None
    per_worker: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    votes: Votes | None = None
    items: Frame | None = None
    saved_spread: Spread | None = None
    saved_intervals: Intervals | None = None

    # Tables.

    @property
    def labels(self) -> Any:
        """A table of task, label, confidence, the model's other columns for tasks, and the columns
        that are kept of them."""
        frame = self._by_task(self._label_frame)
        return self.kind.give(with_columns_of(self.items, frame))

    @property
    def workers(self) -> Any:
        """A table of worker, labels, agreement (the share of labels that agree with the answers),
        accuracy with its 95 % interval (low, high), and the worker's kind and group where known.

        Accuracy and interval come from one model, whatever the method: each worker is judged by
        what the others say, and shrunk to the crowd where there is little data. With more than two
        million votes accuracy is the agreement, and the interval Wilson's."""
        return self.kind.give(self.workers_frame)

    @property
    def posterior_table(self) -> Any:
        """A table of task, and the probability of each class (`task_` for one so called)."""
        return self.kind.give(self._by_task(self._posterior_frame))

    @property
    def confusion_table(self) -> Any:
        """Confusion matrices as a table of worker, truth, label, probability and its 95 % interval
        (low, high). Probability and interval come from one model, Dawid-Skene with rows that are
        shrunk to the crowd's; the method's own matrices are in `confusion`."""
        if self.confusion is None:
            raise UsageError(f"{self.method or 'This model'} has no confusion matrices.")
        mean, low, high = self.confusion_intervals
        table = self.by_worker(mean, "probability")
        return self.kind.give(table.with_columns(low=low.ravel(), high=high.ravel()))

    @property
    def classes(self) -> list[Any]:
        return self.codebook.classes.to_list()

    @property
    def per_task(self) -> Mapping[str, Floats]:
        """Other values of the model for each task, such as its difficulty, by name."""
        return self.tasks.whole.per_task

    @property
    def n_labels(self) -> int:
        return int(self.tally.sum().round())

    # Confidence.

    @cached_property
    def shift(self) -> Shift:
        """How far the confidences may be off: by the method's calibration on public data sets, and
        by known answers where there are enough (`check`)."""
        return Shift.of(self.model.calibration(self.params), self.check)

    @property
    def expected_error(self) -> ExpectedError:
        """Expected share of wrong answers among those that are not known, with a 90 % interval.

        It comes from the confidences, and from how far these may be off (`shift`). Without known
        answers, an error that the whole crowd shares does not show in its votes, and is not
        included."""
        return ExpectedError.of(self.overview, self.shift)

    @property
    def expected_error_of_decided(self) -> ExpectedError:
        """The same of the answers that are decided, known ones among them, by known answers that
        would be decided too."""
        check = None if self.check is None else self.check.above(self.min_confidence)
        shift = Shift.of(self.model.calibration(self.params), check)
        return error_of_the_decided(self.overview, shift, self.min_confidence)

    @property
    def class_shares(self) -> Any:
        """A table of label, and the share of the tasks that have it, with its 90 % interval."""
        share, low, high = zip(*self.class_share_rows(), strict=True)
        table = pl.DataFrame([self.codebook.classes.alias("label"), pl.Series("share", share)])
        return self.kind.give(table.with_columns(low=pl.Series(low), high=pl.Series(high)))

    def class_share_rows(self) -> list[Share]:
        """The share of each class, in the order of `classes`."""
        return class_share_intervals(self.overview, self.shift)

    @cached_property
    def spread(self) -> Spread | None:
        """Accuracies of the workers with their intervals, computed when first asked for; None with
        too many votes, or for a result that was saved without."""
        if self.saved_spread is not None or self.votes is None:
            return self.saved_spread
        if self.tally.sum() > MOST_VOTES:
            return None
        with buffers.reuse():
            return accuracy_intervals(Threads().over(self.votes.blocks))

    @cached_property
    def confusion_intervals(self) -> Intervals:
        """Intervals of the confusion matrix entries, computed when first asked for. Where that
        would take too long they are Wilson's, which take the answers as given."""
        if self.saved_intervals is not None:
            return self.saved_intervals
        n_workers, n_classes = len(self.codebook.workers), len(self.codebook.classes)
        if self.votes is not None and self.spread is not None:
            fold = Threads().over(self.votes.blocks)
            return confusion_intervals(fold, self.spread, n_classes)
        counts = self.history
        if counts is None:
            counts = np.zeros((n_workers, n_classes, n_classes))
        given = counts.sum(axis=2, keepdims=True)
        low, high = metrics.wilson_interval(counts, given)
        return Intervals(counts / np.where(given > 0, given, 1), low, high)

    @property
    def mixture(self) -> dict[str, Any] | None:
        """Mixture weights of a model that mixes others, why, and on how many tasks these differ."""
        return self.model.mixture(self.stats, self.params)

    def __repr__(self) -> str:
        return as_text(summarise(self), ".labels  .workers  .posterior_table  .confusion_table")

    def _repr_html_(self) -> str:
        from quorate.summary import as_card

        return as_card(summarise(self), self._least_certain())

    def _least_certain(self) -> list[tuple[Any, Any, float]]:
        """Task, label and confidence of the least certain answers; none where they are in files."""
        if self.tasks.in_files:
            return []
        part = self.tasks.whole
        first = np.argsort(part.confidence, kind="stable")[:MOST_ROWS].tolist()
        book = self.codebook
        return [
            (book.tasks[i], book.classes[int(part.codes[i])], float(part.confidence[i]))
            for i in first
        ]

    def report(
        self,
        path: str | Path,
        *,
        title: str = "Report",
        pseudonyms: bool = False,
        n_shown: int = 30,
    ) -> None:
        """Write a report as one HTML file that needs no network: workers, disputed tasks, classes,
        agreement, what to ask next. With `pseudonyms` workers' names are hidden; `n_shown` is the
        number of tasks in a list."""
        from quorate.report.page import page_of
        from quorate.report.views import ReportOptions, report_of

        page = page_of(report_of(self, ReportOptions(title, pseudonyms, n_shown)))
        with Outputs() as outputs:
            outputs.file(str(path), lambda file: file.write(page.encode()))

    @property
    def plot(self) -> Plots:
        """Figures, by matplotlib: `plot.workers()`, `plot.confusion()`, and others."""
        from quorate.report.plots import Plots

        return Plots(self)

    @property
    def own_votes(self) -> Votes:
        """The votes it was made of, each with its full weight."""
        if self.votes is None:
            raise UsageError("A result that was loaded does not have its votes: give them instead.")
        return self.votes.with_blocks(self.votes.blocks.change(_in_full))

    # Frames, by role.

    @cached_property
    def workers_frame(self) -> pl.DataFrame:
        labels = self.tally.sum(axis=1)
        right = self.tally[:, 0]
        agreement = np.divide(right, labels, out=np.zeros_like(right), where=labels > 0)
        spread = self.spread
        if spread is None:
            accuracy, (low, high) = agreement, metrics.wilson_interval(right, labels)
        else:
            accuracy, low, high = spread.accuracy, spread.low, spread.high
        return pl.DataFrame(
            {
                "worker": self.codebook.workers,
                "labels": labels.round().astype(np.int64),
                "agreement": agreement,
                "accuracy": accuracy,
                "low": low,
                "high": high,
                **{name: pl.Series(name, values) for name, values in self.per_worker.items()},
            }
        )

    def by_worker(self, values: Floats, name: str) -> pl.DataFrame:
        """An array ``[worker, truth, label]`` as a table with names."""
        worker, truth, label = (i.ravel() for i in np.indices(values.shape))
        classes = self.codebook.classes
        return pl.DataFrame(
            {
                "worker": self.codebook.workers.gather(worker),
                "truth": classes.gather(truth),
                "label": classes.gather(label),
                name: values.ravel(),
            }
        )

    def _by_task(self, make: Any) -> Frame:
        """The table that `make` makes of names and answers; a lazy query where they are in
        files."""
        if not self.tasks.in_files:
            frame: pl.DataFrame = make(self.codebook.tasks, self.tasks.whole)
            return frame

        def frames() -> Iterator[pl.DataFrame]:
            for index, names in enumerate(self.task_names):
                yield make(names, self.tasks.part(index))

        return in_parts(frames, make(self.task_names[0], self.tasks.part(0)).schema)

    @property
    def task_names(self) -> Sequence[pl.Series]:
        """Names of the tasks, in the same parts as the answers."""
        return [self.codebook.tasks] if self.votes is None else self.votes.blocks.segments()

    def _label_frame(self, tasks: pl.Series, part: Part) -> pl.DataFrame:
        frame = answer_table(tasks, self.codebook.classes, part)
        if not self.min_confidence:
            return frame
        sure = pl.when(pl.col("confidence") >= self.min_confidence).then(pl.col("label"))
        return frame.with_columns(sure.alias("label"))

    def _posterior_frame(self, tasks: pl.Series, part: Part) -> pl.DataFrame:
        columns = {"task": tasks}
        names = map(str, self.codebook.classes)
        for name, probability in zip(names, part.posterior.T, strict=True):
            columns[f"{name}_" if name in columns else name] = pl.Series(probability)
        return pl.DataFrame(columns)

    # Prediction and explanation.

    def predict(
        self, votes: Any = None, *, features: Any = None, **reading: Unpack[Reading]
    ) -> Any:
        """Predict labels of new tasks, as a table of task, label and confidence.

        A new worker counts as the crowd's average; a new label is an error. `features` are those of
        the new tasks, for a model that has learned from features, and also classify tasks that
        nobody labelled; a new feature is ignored. The options are those of reading votes, such as
        `task_column`.
        """
        if votes is None:
            if features is None:
                raise UsageError("There is nothing to predict from: give votes or features.")
            new = Votes.none(self.codebook.classes)
        else:
            new = read_votes(votes, classes=self.codebook.classes, **reading)
        if features is not None:
            new = self._with_features(new, features, reading)
        labels = self._with_known_workers(new)
        params = self.model.newcomer(self.stats, self.params)
        posterior = np.concatenate([self._posterior_of(block, params) for block in labels.blocks()])
        part = Part(posterior, self._choose(posterior, labels), {})
        table = answer_table(new.codebook.tasks, self.codebook.classes, part)
        return new.kind.give(with_columns_of(new.items, table))

    def explain(
        self,
        task: Any,
        votes: Any = None,
        *,
        confidence: float = 0.95,
        **reading: Unpack[Reading],
    ) -> Explanation:
        """Explain why a task has its label: what each vote and the prior add to it, which single
        vote would change it, and how many more votes would raise it to the `confidence`.

        A result that was loaded does not have its votes: give them, or any others, with the options
        of reading votes. The task is then explained by those alone, as `predict` would label it.

        Examples:
            >>> import quorate
            >>> votes = [("t", "ann", "a"), ("t", "bob", "a"), ("u", "ann", "b"), ("u", "bob", "a")]
            >>> why = quorate.aggregate(votes, "one-coin", smoothing=1).explain("t")
            >>> why.label, why.votes["decibans"].round(2).to_list()
            ('a', [0.84, 0.0])
        """
        if votes is not None:
            why = self._explained(self._case_of(task, votes, reading), confidence)
            return replace(why, item=item_of(self.items, why.task))
        if self.votes is None:
            raise UsageError("A result that was loaded does not have its votes: give them.")
        segment, at, _ = _place(task, self.task_names)
        why = self.explain_at(segment, at, confidence)
        return replace(why, item=item_of(self.items, why.task))

    def explain_at(self, segment: int, at: int, confidence: float = 0.95) -> Explanation:
        """The same of the task at this place of a segment of the votes, which is not looked for,
        and without the columns that are kept of it."""
        return self._explained(self._own_case(segment, at), confidence)

    def _explained(self, case: Case, confidence: float) -> Explanation:
        params = self.model.newcomer(self.stats, self.params)
        context = Context(
            self.model,
            params,
            self.codebook,
            self.workers_frame,
            lambda labels: self._posterior_of(labels, params),
            self.method,
            self.kind,
        )
        return explain(case, context, confidence)

    def _own_case(self, segment: int, at: int) -> Case:
        """The case of a task of this result, with its votes and its posterior."""
        assert self.votes is not None
        blocks, name = self.votes.blocks, self.task_names[segment][at]
        labels = blocks[segment] if self.tasks.in_files else self.votes.labels
        votes = replace(labels[at : at + 1], n_workers=labels.n_workers + 1, worker_key=None)
        part = self.tasks.part(segment)
        of_task = {extra: values[at] for extra, values in part.per_task.items()}
        return Case(name, votes, part.posterior[at], int(part.codes[at]), of_task)

    def _case_of(self, task: Any, votes: Any, reading: Reading) -> Case:
        """The case of a task of other votes."""
        new = read_votes(votes, classes=self.codebook.classes, **reading)
        _, at, name = _place(task, [new.codebook.tasks])
        labels = self._with_known_workers(new)[at : at + 1]
        posterior = self._posterior_of(labels, self.model.newcomer(self.stats, self.params))
        return Case(name, labels, posterior[0], int(self._choose(posterior, labels)[0]), {})

    def _choose(self, posterior: Floats, labels: Labels) -> Codes:
        return kernels.choose(posterior, self.model.ties, self.model.seed, labels.task_keys)

    def _with_known_workers(self, new: Votes) -> Labels:
        """The labels with this result's codes of the workers; new workers have the next code."""
        n_known = len(self.codebook.workers)
        known = find(new.codebook.workers, self.codebook.workers)
        code = known.fill_null(n_known).to_numpy().astype(np.int32)
        return new.labels.with_workers(code, n_known + 1)

    def _with_features(self, votes: Votes, features: Any, reading: Reading) -> Votes:
        if self.codebook.features is None:
            raise UsageError(f"{self.method or 'This model'} has not learned from features.")
        read = read_features(features, reading).only(self.codebook.features)
        return with_features(votes, read)

    def _posterior_of(self, block: Any, params: Any) -> Floats:
        local, _ = self.model.sweep(block, params, self.model.begin(block))
        return self.model.posterior(block, params, local)

    @property
    def _trial(self) -> Floats:
        """The posterior of a task with one vote of everybody, for which every parameter is used."""
        n_workers, n_classes = len(self.codebook.workers) + 1, len(self.codebook.classes)
        everybody = np.arange(n_workers)
        labels = Labels.from_codes(
            np.zeros_like(everybody), everybody, everybody % n_classes, n_classes=n_classes
        )
        return self._posterior_of(labels, self.model.newcomer(self.stats, self.params))

    # For other tools.

    def write_as(self, tool: str, path: str | Path, export: Any = None, **options: Any) -> None:
        """Write the answers to a file in the form that another tool imports: ``"label-studio"``,
        ``"label-studio-predictions"``, ``"argilla"``, ``"prodigy"``, ``"mturk"`` or
        ``"huggingface"``.

        `export` is the tool's export that the votes are from, which is read again; Hugging Face
        needs none. With ``"mturk"``, `reject_below` is the accuracy below which work is rejected.
        """
        writer_for(tool, export, options)
        found = {self.question: self.outcome()}
        with Outputs() as outputs:
            outputs.file(str(path), lambda file: write_for(tool, found, export, file, **options))

    @property
    def question(self) -> str:
        """The question of an export that was answered; empty where it has no name."""
        return (self.read.question if self.read else None) or ""

    def outcome(self) -> Outcome:
        """What writers for other tools need."""
        part = self.tasks.whole
        label = self.codebook.classes.gather(part.codes).alias("label")
        sure = pl.Series(part.confidence >= self.min_confidence)
        return self._outcome_of(label.set(~sure, None), part.confidence, self.votes)

    def _outcome_of(self, label: pl.Series, confidence: Floats, votes: Votes | None) -> Outcome:
        if votes is None:
            raise UsageError("A result that was loaded does not have its votes: aggregate again.")
        tasks = pl.concat([names.alias("task") for names in self.task_names])
        frame = pl.DataFrame([tasks, label, pl.Series("confidence", confidence)])
        return Outcome(
            f"quorate {__version__} {self.method}".strip(),
            with_columns_of(self.items, frame),
            self.codebook.classes,
            self.tasks.whole.posterior,
            lambda: vote_table(votes).lazy().collect(),
            lambda: self.workers_frame,
        )

    # Saving.

    def save(self, path: str | Path) -> None:
        """Save the result in one file: a zip of JSON, NumPy arrays and Parquet tables of names."""
        with Outputs() as outputs:
            outputs.file(str(path), self.write)

    def write(self, file: BinaryIO) -> None:
        """Write the result to an open file, in the format that `load` reads."""
        if self.model.in_memory_only:
            raise UsageError(f"{self.method} is a function, which no file can keep: keep `labels`.")
        parts = {
            "model": self.model,
            "params": self.params,
            "stats": dense(self.stats),
            "tally": self.tally,
            "overview": self.overview,
            "decision": self.decision,
            "check": self.check,
            "spread": self.spread,
            "confusion": None if self.confusion is None else self.confusion_intervals,
        }
        about: dict[str, Any] = {
            "quorate": FORMAT,
            **{name: getattr(self, name) for name in PLAIN},
            "steps": [step._asdict() for step in self.steps],
            "read": None if self.read is None else asdict(self.read),
            "notes": self.notes,
        }
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for part, value in parts.items():
                about[part] = saving.put(archive, part, value)
            about["answers"] = self._put_answers(archive)
            saving.put_names(archive, "tasks", self.task_names)
            for name in ("workers", "classes", "features"):
                names = getattr(self.codebook, name)
                if names is not None:
                    saving.put_names(archive, name, [names])
            if self.items is not None:
                saving.put_table(archive, "items", self.items)
            archive.writestr("result.json", json.dumps(about, indent=1, default=np.generic.item))

    def _put_answers(self, archive: zipfile.ZipFile) -> dict[str, Any]:
        n_tasks, first = self.overview.tasks, self.tasks.part(0)

        def put(name: str, like: Any, of: Any) -> dict[str, str]:
            shape = (n_tasks, *like.shape[1:])
            parts = (of(part) for part in self.tasks.parts())
            return saving.put_array(archive, f"answers/{name}", shape, like.dtype, parts)

        return {
            "posterior": put("posterior", first.posterior, lambda part: part.posterior),
            "codes": put("codes", first.codes, lambda part: part.codes),
            "per_task": {
                name: put(name, values, lambda part, name=name: part.per_task[name])
                for name, values in first.per_task.items()
            },
        }


def _in_full(labels: Labels) -> Labels:
    """The labels without discount."""
    return replace(labels, weight=None)


def _place(task: Any, names: Sequence[pl.Series]) -> tuple[int, int, Any]:
    """Segment that holds a task, its index there, and its name as it is there."""
    for segment, tasks in enumerate(names):
        at = find(pl.Series([task]), tasks)[0]
        if at is not None:
            return segment, int(at), tasks[int(at)]
    raise DataError(f"There is no task {shown(task)} among the votes.")


def answer_table(tasks: pl.Series, classes: pl.Series, part: Part) -> pl.DataFrame:
    """A table of task, label, confidence and the other values of each task."""
    return pl.DataFrame(
        [
            tasks.alias("task"),
            classes.gather(part.codes).alias("label"),
            pl.Series("confidence", part.confidence),
            *(pl.Series(name, values) for name, values in part.per_task.items()),
        ]
    )


def load(path: str | Path) -> Result:
    """Load a result that was saved."""
    try:
        with saving.Archive(path) as archive:
            return _checked(_read(archive))
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.") from None
    except QuorateError:
        raise
    except (Exception, pl.exceptions.PanicException):  # whatever a damaged or foreign file does
        raise DataError(f"{path} is not a whole result of Quorate: save it again.") from None


def _read(archive: saving.Archive) -> Result:
    about = json.loads(archive.content("result.json"))
    if about["quorate"] != FORMAT:
        raise DataError(f"The result is in format {about['quorate']}; this Quorate reads {FORMAT}.")

    names = [saving.get_names(archive, n) for n in ("tasks", "workers", "classes", "features")]
    archive.largest = _largest_array(*(0 if of is None else len(of) for of in names))

    def get(part: str) -> Any:
        return saving.get(archive, about[part], MODELS)

    model, tasks = get("model"), AnswersInMemory(**get("answers"))
    return Result(
        model=model,
        params=restored(model.params_type, get("params")),
        stats=restored(model.stats_type, get("stats")),
        steps=tuple(Step(**step) for step in about["steps"]),
        tally=get("tally"),
        overview=restored(Overview, get("overview")),
        decision=restored(Decision, get("decision")),
        check=restored(Check, get("check")),
        tasks=tasks,
        notes=tuple(about["notes"]),
        codebook=Codebook(*names),  # type: ignore[arg-type]
        read=None if about["read"] is None else ReadReport(**about["read"]),
        items=saving.get_table(archive, "items"),
        saved_spread=restored(Spread, get("spread")) if about["spread"] else None,
        saved_intervals=restored(Intervals, get("confusion")) if about["confusion"] else None,
        **{name: about[name] for name in PLAIN},
    )


def _are_items(items: Frame | None, tasks: pl.Series) -> bool:
    """Whether a table has columns of these tasks, each of which is there once at most."""
    if items is None:
        return True
    names = items.lazy().select("task").collect()["task"]
    return names.dtype == tasks.dtype and names.is_unique().all() and len(names) <= len(tasks)


def _largest_array(n_tasks: int, n_workers: int, n_classes: int, n_features: int) -> int:
    """Bytes that no array of a result of so many tasks, workers, classes and features exceeds."""
    tables = n_tasks + n_features + n_workers * n_classes + n_classes**2
    return 8 * MOST_TABLES * max(n_classes, 1) * tables + SMALL_ARRAY


def _checked(result: Result) -> Result:
    """The result, whose file anybody may have written, with arrays of the shapes and values that
    they can have."""
    book, part, tally = result.codebook, result.tasks.whole, result.tally
    n_tasks, n_workers, n_classes = len(book.tasks), len(book.workers), len(book.classes)
    interval, spread = result.saved_intervals, result.saved_spread
    matrices = [each for each in (result.confusion, result.history) if each is not None]
    by_worker = [] if spread is None else [spread.low, spread.high, spread.accuracy]
    shapes: list[tuple[Any, tuple[int, ...]]] = [
        (part.posterior, (n_tasks, n_classes)),
        (part.codes, (n_tasks,)),
        (tally, (n_workers, 2)),
        (result.overview.answered, (n_classes,)),
        (result.overview.strata, (STRATA, 1 + 2 * n_classes)),
        *((values, (n_tasks,)) for values in part.per_task.values()),
        *((values, (n_workers,)) for values in by_worker),
        *((values, (n_workers, n_classes, n_classes)) for values in (*(interval or ()), *matrices)),
    ]
    beliefs = [part.posterior, *by_worker, *(interval or ()), *(result.check or ())]
    probabilities = [*beliefs, result.min_confidence]
    sound = (
        all(np.shape(array) == shape for array, shape in shapes)
        and part.codes.dtype.kind == "i"
        and bool(((part.codes >= 0) & (part.codes < n_classes)).all())
        and all(np.all((np.asarray(p) >= 0) & (np.asarray(p) <= 1 + 1e-9)) for p in probabilities)
        and np.allclose(part.posterior.sum(axis=1), 1, rtol=0, atol=1e-6)
        and bool(np.isfinite(tally).all() and (tally > -1e-9).all())
        and all(len(values) == n_workers for values in result.per_worker.values())
        and all(isinstance(note, str) for note in (result.method, *result.notes))
        and _are_items(result.items, book.tasks)
    )
    if not sound or result._trial.shape != (1, n_classes):
        raise ValueError("An array has another shape, or values that it cannot have.")
    return result
