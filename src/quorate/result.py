"""What a fit gives: labels, workers, how sure, and how it was found; to keep, and to use again."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import polars as pl

from quorate import kernels, metrics
from quorate.engines.threads import Threads
from quorate.errors import DataError, QuorateError, UsageError
from quorate.explanation import Case, Explanation, explain
from quorate.intervals import MOST_VOTES, Spread, reckon, reckon_matrices
from quorate.io import (
    Kind,
    Outputs,
    ReadReport,
    Votes,
    find,
    read_features,
    read_votes,
    shown,
    with_features,
)
from quorate.kernels import Codes, Floats
from quorate.labels import Codebook, Labels
from quorate.model import Calibration, Model, Step, dense, restored
from quorate.models import MODELS

FORMAT = 2
NEAR_TIE = 0.1  # the lead of the best class over the second


class Overview(NamedTuple):
    """Of the answers of some tasks; those of more tasks add: how many tasks there are, how many
    have each class for an answer, the sum of the confidences, how many are nearly tied, and how
    many are left undecided, their confidence being too low."""

    tasks: int
    answered: Floats
    confidence: float
    near_ties: int
    undecided: int = 0

    @classmethod
    def of(cls, posterior: Floats, answers: Codes, min_confidence: float = 0.0) -> Overview:
        tasks, n_classes = posterior.shape
        confidence = posterior[np.arange(tasks), answers]
        others = posterior.copy()
        others[np.arange(tasks), answers] = -np.inf
        near_ties = int((confidence - kernels.row_max(others) < NEAR_TIE).sum())
        answered = np.bincount(answers, minlength=n_classes).astype(np.float64)
        undecided = int((confidence < min_confidence).sum())
        return cls(tasks, answered, float(confidence.sum()), near_ties, undecided)


class ExpectedError(NamedTuple):
    """The share of wrong answers that is to be expected, and its 90 % interval."""

    error: float
    low: float
    high: float

    @classmethod
    def of(cls, overview: Overview, calibration: Calibration) -> ExpectedError:
        """What the confidences say, as far as such confidences are to be trusted: their log-odds
        are off by so much, and the tasks are a sample.

        Examples:
            >>> overview = Overview(1000, np.array([600.0, 400.0]), 900.0, 0)
            >>> [round(share, 2) for share in ExpectedError.of(overview, Calibration(0.0, 0.5))]
            [0.1, 0.05, 0.21]
        """
        tasks = max(overview.tasks, 1)
        said = np.clip(1 - overview.confidence / tasks, 1e-9, 1 - 1e-9)
        share = (said * tasks + 0.5) / (tasks + 1)
        half = 1.644854 * np.sqrt(calibration.spread**2 + 1 / ((tasks + 1) * share * (1 - share)))
        odds = np.array([said, share, share]) / (1 - np.array([said, share, share]))
        odds *= np.exp(calibration.bias + half * np.array([0, -1, 1]))
        error, low, high = (odds / (1 + odds)).tolist()
        return cls(error, min(low, error), max(high, error))


@dataclass(frozen=True, eq=False, kw_only=True)
class Fitted:
    """What was learned of the workers, and how; ``tally[worker]`` is the expected number of right
    and wrong labels, in the order of ``workers``."""

    model: Model[Any, Any, Any]
    params: Any
    stats: Any
    steps: tuple[Step, ...]
    converged: bool
    tally: Floats
    codebook: Codebook
    seconds: float
    method: str = ""
    kind: Kind = Kind()
    read: ReadReport | None = None
    notes: tuple[str, ...] = ()
    min_confidence: float = 0.0
    per_worker: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    found_spread: Spread | None = field(default=None, repr=False)

    @property
    def spread(self) -> Spread | None:
        """What the workers' intervals are made of, where there were votes to find it from."""
        return self.found_spread

    @property
    def expected_error(self) -> ExpectedError:
        """How many answers are likely to be wrong, with a 90 % interval, by the confidences and by
        how far such a method's were off on public sets. An error that the whole crowd shares does
        not show in its votes, and is not in here."""
        overview: Overview = self.overview  # type: ignore[attr-defined]
        return ExpectedError.of(overview, self.model.calibration)

    @property
    def workers(self) -> Any:
        """A table of worker, labels, accuracy and its 95 % interval (low, high), and what else is
        known of each worker: its kind, its group."""
        return self.kind.give(self.workers_frame)

    @property
    def classes(self) -> list[Any]:
        return self.codebook.classes.to_list()

    @property
    def confusion(self) -> Floats | None:
        """``[worker, truth, label]``, for models that have it. A row of zeros is a truth that
        the worker, as far as can be told, never met."""
        return self.model.confusion(self.params)

    @property
    def history(self) -> Floats | None:
        """The expected counts ``[worker, truth, label]``: what a later fit can start out from as
        its `worker_prior`."""
        return self.model.history(self.stats, self.params)

    @property
    def objective(self) -> list[float]:
        """The trace of what is maximised, one value for each iteration."""
        return [-np.inf if step.impossible else step.objective for step in self.steps]

    @property
    def log_likelihood(self) -> float | None:
        """The marginal log-likelihood of the votes at the final parameters."""
        last = self.steps[-1]
        return -np.inf if last.impossible else last.log_likelihood

    @property
    def iterations(self) -> int:
        return len(self.steps)

    @property
    def hard_from(self) -> int | None:
        """The first iteration with hard answers, from which on `objective` is another one."""
        return next((i for i, step in enumerate(self.steps) if step.hard), None)

    @cached_property
    def workers_frame(self) -> pl.DataFrame:
        spread = self.spread
        interval = None if spread is None else (spread.low, spread.high)
        table = worker_table(self.codebook.workers, self.tally, interval)
        return table.with_columns(pl.Series(name, of) for name, of in self.per_worker.items())

    @property
    def confusion_frame(self) -> pl.DataFrame:
        """Confusion matrices as a table of worker, truth, label, probability and its 95 % interval
        (low, high)."""
        confusion = self.known_confusion
        low, high = self.confusion_interval
        return self.by_worker(confusion, "probability").with_columns(
            low=np.minimum(low, confusion).ravel(), high=np.maximum(high, confusion).ravel()
        )

    @property
    def known_confusion(self) -> Floats:
        """The confusion matrices, of a model that has any."""
        confusion = self.confusion
        if confusion is None:
            raise UsageError(f"{self.method or 'This model'} has no confusion matrices.")
        return confusion

    @property
    def confusion_interval(self) -> tuple[Floats, Floats]:
        """``[worker, truth, label]``: from the expected counts, which takes the answers as given;
        all of [0, 1] without any."""
        n_workers, n_classes = len(self.codebook.workers), len(self.codebook.classes)
        counts = self.history
        if counts is None:
            counts = np.zeros((n_workers, n_classes, n_classes))
        return metrics.wilson_interval(counts, counts.sum(axis=2, keepdims=True))

    def by_worker(self, values: Floats, name: str) -> pl.DataFrame:
        """An array ``[worker, truth, label]`` as a table, by names."""
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


@dataclass(frozen=True, eq=False, kw_only=True)
class Result(Fitted):
    """Answers with their confidence, and workers with their quality.

    ``posterior[task, class]`` is the belief, ``answers[task]`` the code of the chosen class and
    ``tally[worker]`` the expected number of right and wrong labels; rows are in the order of
    ``labels`` and ``workers``, columns in that of ``classes``. ``per_task`` is what else the model
    has to say of each task, such as its difficulty, by name. ``votes`` are those it was made of, in
    codes, to explain labels by; they are not saved.
    """

    posterior: Floats
    answers: Codes
    per_task: Mapping[str, Floats] = field(default_factory=dict)
    votes: Labels | None = field(default=None, repr=False)
    found_confusion: tuple[Floats, Floats] | None = field(default=None, repr=False)

    @cached_property
    def spread(self) -> Spread | None:
        """What the workers' intervals are made of; found when it is first asked for."""
        if self.found_spread is not None or self.votes is None:
            return self.found_spread
        if self.votes.n_labels > MOST_VOTES:
            return None
        return reckon(Threads().over(self.votes))

    @cached_property
    def confusion_interval(self) -> tuple[Floats, Floats]:
        """``[worker, truth, label]``, low and high; found when it is first asked for."""
        if self.found_confusion is not None:
            return self.found_confusion
        if self.votes is None or self.spread is None:
            return super().confusion_interval
        return reckon_matrices(Threads().over(self.votes), self.spread, self.votes.n_classes)

    @property
    def labels(self) -> Any:
        """A table of task, label, confidence and what else the model has to say of a task, in the
        caller's kind of table."""
        return self.kind.give(self.labels_frame)

    @cached_property
    def confidence(self) -> Floats:
        """The belief in each task's answer."""
        chosen: Floats = np.take_along_axis(self.posterior, self.answers[:, None], axis=1)[:, 0]
        return chosen

    @property
    def overview(self) -> Overview:
        return Overview.of(self.posterior, self.answers, self.min_confidence)

    @cached_property
    def labels_frame(self) -> pl.DataFrame:
        book = self.codebook
        frame = answer_table(book.tasks, book.classes, self.answers, self.confidence, self.per_task)
        return only_sure(frame, self.min_confidence)

    @cached_property
    def posterior_frame(self) -> pl.DataFrame:
        """The belief as a table: task, and a column for each class (`task_` for one so called)."""
        return belief_table(self.codebook.tasks, self.codebook.classes, self.posterior)

    def predict(self, votes: Any = None, *, features: Any = None, **reading: Any) -> Any:
        """Labels for new tasks from what was learned, as a table of task, label and confidence.

        A worker who was not there before counts as the crowd's average; a label that was not there
        is an error. `features` are those of the new tasks, for a model that has learned from some,
        and tell of tasks that nobody labelled; a feature that was not there tells nothing. The
        options are those of reading votes, such as `task_column`.
        """
        if votes is None:
            if features is None:
                raise UsageError("There is nothing to predict from: give votes or features.")
            new = Votes.none(self.codebook.classes)
        else:
            new = read_votes(votes, classes=self.codebook.classes, **reading)
        if features is not None:
            new = self._with_features(new, features, **reading)
        labels = self._with_known_workers(new)
        params = self.model.newcomer(self.stats, self.params)
        posterior = np.concatenate([self._believe(block, params) for block in labels.blocks()])
        answers = kernels.choose(posterior, self.model.ties, self.model.seed, 0)
        confidence = np.take_along_axis(posterior, answers[:, None], axis=1)[:, 0]
        tasks, classes = new.codebook.tasks, self.codebook.classes
        return new.kind.give(answer_table(tasks, classes, answers, confidence))

    def explain(
        self, task: Any, votes: Any = None, *, confidence: float = 0.95, **reading: Any
    ) -> Explanation:
        """Why a task has its label: what each vote and the classes' shares add to it, which single
        vote would change it, and how many more would make it as sure as `confidence`.

        A result that was loaded does not have its votes: give them, or any others, with the options
        of reading votes. The task is then explained by those alone, as `predict` would label it.

        Examples:
            >>> import quorate
            >>> votes = [("t", "ann", "a"), ("t", "bob", "a"), ("u", "ann", "b"), ("u", "bob", "a")]
            >>> why = quorate.aggregate(votes, "one-coin", smoothing=1).explain("t")
            >>> why.label, why.votes["decibans"].round(2).to_list()
            ('a', [0.84, 0.0])
        """
        case = self._own_case(task) if votes is None else self._case_of(task, votes, **reading)
        params = self.model.newcomer(self.stats, self.params)
        return explain(
            self.model,
            params,
            case,
            book=self.codebook,
            workers=self.workers_frame,
            believe=lambda labels: self._believe(labels, params),
            confidence=confidence,
            method=self.method,
        )

    def _own_case(self, task: Any) -> Case:
        """A task of the result, with its votes and what is known of it."""
        if self.votes is None:
            raise UsageError("A result that was loaded does not have its votes: give them.")
        at = _place(task, self.codebook.tasks)
        votes = replace(self.votes[at : at + 1], n_workers=self.votes.n_workers + 1, first_task=0)
        of_task = {name: values[at] for name, values in self.per_task.items()}
        return Case(
            self.codebook.tasks[at], votes, self.posterior[at], int(self.answers[at]), of_task
        )

    def _case_of(self, task: Any, votes: Any, **reading: Any) -> Case:
        """A task of other votes, of which only these are known."""
        new = read_votes(votes, classes=self.codebook.classes, **reading)
        at = _place(task, new.codebook.tasks)
        labels = replace(self._with_known_workers(new)[at : at + 1], first_task=0)
        belief = self._believe(labels, self.model.newcomer(self.stats, self.params))
        answer = kernels.choose(belief, self.model.ties, self.model.seed, at)
        return Case(new.codebook.tasks[at], labels, belief[0], int(answer[0]), {})

    def _with_known_workers(self, new: Votes) -> Labels:
        """The labels with the codes that the workers have here; for all others the next one."""
        n_known = len(self.codebook.workers)
        known = find(new.codebook.workers, self.codebook.workers)
        code = known.fill_null(n_known).to_numpy().astype(np.int32)
        return new.labels.with_workers(code, n_known + 1)

    def _with_features(self, votes: Votes, features: Any, **reading: Any) -> Votes:
        if self.codebook.features is None:
            raise UsageError(f"{self.method or 'This model'} has not learned from features.")
        how = {"missing": reading["missing"]} if "missing" in reading else {}
        columns = {"task": reading.get("task_column")}
        read = read_features(features, columns=columns, **how).only(self.codebook.features)
        return with_features(votes, read, [])

    def _believe(self, block: Any, params: Any) -> Floats:
        local, _ = self.model.sweep(block, params, self.model.begin(block))
        return self.model.posterior(block, params, local)

    def save(self, path: str | Path) -> None:
        """Keep the result in one file: a zip of JSON, NumPy arrays and Parquet tables of names."""
        with Outputs() as outputs:
            outputs.file(str(path), self.write)

    def write(self, file: BinaryIO) -> None:
        parts = {
            "model": self.model,
            "params": self.params,
            "stats": dense(self.stats),
            "answers": {
                "posterior": self.posterior,
                "answers": self.answers,
                "tally": self.tally,
            },
            "per_task": dict(self.per_task),
            "spread": self.spread,
            "confusion": None if self.confusion is None else self.confusion_interval,
        }
        about: dict[str, Any] = {
            "quorate": FORMAT,
            "method": self.method,
            "steps": [step._asdict() for step in self.steps],
            "converged": self.converged,
            "seconds": self.seconds,
            "read": None if self.read is None else asdict(self.read),
            "notes": self.notes,
            "per_worker": {name: list(of) for name, of in self.per_worker.items()},
            "min_confidence": self.min_confidence,
        }
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for part, value in parts.items():
                about[part] = _put(archive, part, value)
            for name in ("tasks", "workers", "classes", "features"):
                names = getattr(self.codebook, name)
                if names is None:
                    continue
                table = io.BytesIO()
                names.alias("name").to_frame().write_parquet(table)
                archive.writestr(f"names/{name}.parquet", table.getvalue())
            archive.writestr("result.json", json.dumps(about, indent=1, default=np.generic.item))


def _put(archive: zipfile.ZipFile, name: str, value: Any) -> Any:
    """The value as JSON, its arrays as entries of the archive: tuples with names and models are
    objects, other tuples lists."""
    if isinstance(value, np.ndarray):
        with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
            np.lib.format.write_array(entry, value, allow_pickle=False)
        return {"array": f"{name}.npy"}
    if is_dataclass(value):
        options = {f.name: getattr(value, f.name) for f in fields(value)}
        return {"model_kind": type(value).__name__, **_put(archive, name, options)}
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {key: _put(archive, f"{name}/{key}", part) for key, part in value.items()}
    if isinstance(value, tuple):
        return [_put(archive, f"{name}/{i}", part) for i, part in enumerate(value)]
    return value


def _place(task: Any, tasks: pl.Series) -> int:
    at = find(pl.Series([task]), tasks)[0]
    if at is None:
        raise DataError(f"There is no task {shown(task)} among the votes.")
    return int(at)


def answer_table(
    tasks: pl.Series,
    classes: pl.Series,
    answers: Codes,
    confidence: Floats,
    more: Mapping[str, Floats] | None = None,
) -> pl.DataFrame:
    """Task, label and confidence, and what else there is to say of each task."""
    columns = [tasks.alias("task"), classes.gather(answers).alias("label")]
    columns.append(pl.Series("confidence", confidence))
    return pl.DataFrame(
        columns + [pl.Series(name, values) for name, values in (more or {}).items()]
    )


def only_sure(frame: pl.DataFrame, min_confidence: float) -> pl.DataFrame:
    """The table of labels, without those whose confidence is lower."""
    if not min_confidence:
        return frame
    sure = pl.when(pl.col("confidence") >= min_confidence).then(pl.col("label"))
    return frame.with_columns(sure.alias("label"))


def belief_table(tasks: pl.Series, classes: pl.Series, posterior: Floats) -> pl.DataFrame:
    """Task, and the belief in each class (`task_` for one so called)."""
    columns = {"task": tasks}
    for name, belief in zip(map(str, classes), posterior.T, strict=True):
        columns[f"{name}_" if name in columns else name] = pl.Series(belief)
    return pl.DataFrame(columns)


def worker_table(
    workers: pl.Series, tally: Floats, interval: tuple[Floats, Floats] | None = None
) -> pl.DataFrame:
    """Each worker's number of labels, and the share that is right with its interval, which reaches
    at least to that share; without one Wilson's, which takes the answers as given."""
    count = tally.sum(axis=1)
    right = tally[:, 0]
    low, high = metrics.wilson_interval(right, count) if interval is None else interval
    accuracy = np.divide(right, count, out=np.zeros_like(right), where=count > 0)
    low, high = np.minimum(low, accuracy), np.maximum(high, accuracy)
    return pl.DataFrame(
        {
            "worker": workers,
            "labels": count.round().astype(np.int64),
            "accuracy": accuracy,
            "low": low,
            "high": high,
        }
    )


def load(path: str | Path) -> Result:
    """A result that was saved."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive)
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.") from None
    except QuorateError:
        raise
    except (Exception, pl.exceptions.PanicException):  # whatever a damaged or foreign file does
        raise DataError(f"{path} is not a whole result of Quorate: save it again.") from None


def _read(archive: zipfile.ZipFile) -> Result:
    about = json.loads(archive.read("result.json"))
    if about["quorate"] != FORMAT:
        raise DataError(f"The result is in format {about['quorate']}; this Quorate reads {FORMAT}.")

    def get(value: Any) -> Any:
        if isinstance(value, list):
            return tuple(map(get, value))
        if not isinstance(value, dict):
            return value
        if "array" in value:
            with archive.open(value["array"]) as data:
                return np.lib.format.read_array(data)
        parts = {key: get(part) for key, part in value.items()}
        return MODELS[parts.pop("model_kind")](**parts) if "model_kind" in parts else parts

    def names(which: str) -> pl.Series:
        return pl.read_parquet(archive.read(f"names/{which}.parquet"))["name"]

    features = names("features") if "names/features.parquet" in archive.namelist() else None
    model = get(about["model"])
    return Result(
        model=model,
        params=restored(model.params_type, get(about["params"])),
        stats=restored(model.stats_type, get(about["stats"])),
        steps=tuple(Step(**step) for step in about["steps"]),
        converged=about["converged"],
        codebook=Codebook(names("tasks"), names("workers"), names("classes"), features),
        seconds=about["seconds"],
        method=about["method"],
        read=None if about["read"] is None else ReadReport(**about["read"]),
        notes=tuple(about["notes"]),
        per_worker=about.get("per_worker", {}),
        min_confidence=about.get("min_confidence", 0.0),
        per_task=get(about["per_task"]),
        found_spread=restored(Spread, get(about["spread"])) if about.get("spread") else None,
        found_confusion=get(about.get("confusion")),
        **get(about["answers"]),
    )
