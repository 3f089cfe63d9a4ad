"""The result where tasks have several right answers: a result for each option, and their union."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate.answers import NEAR_TIE, Answers, Overview, Part
from quorate.errors import UsageError
from quorate.kernels import Floats
from quorate.result import Result
from quorate.trust import Check, Share, Shift, class_share_intervals
from quorate.votes import Kind, Votes
from quorate.votes.writers import Outcome


@dataclass(frozen=True, eq=False)
class OptionAnswers(Answers):
    """Answers of all options: ``posterior[task, option]`` is the probability that an option is
    right, ``codes[task, option]`` whether it is taken to be."""

    options: Sequence[Answers]

    def __len__(self) -> int:
        return len(self.options[0])

    @property
    def in_files(self) -> bool:
        return self.options[0].in_files

    def part(self, index: int) -> Part:
        return _together([option.part(index) for option in self.options])

    @cached_property
    def whole(self) -> Part:
        return _together([option.whole for option in self.options])


def _together(parts: Sequence[Part]) -> Part:
    posterior = np.stack([part.posterior[:, 1] for part in parts], axis=1)
    return Part(posterior, np.stack([part.codes == 1 for part in parts], axis=1), {})


def _confidence(part: Part) -> Floats:
    """Probability of the answer, yes or no, for each task and option."""
    return np.where(part.codes, part.posterior, 1 - part.posterior)


def _overview(tasks: Answers, of_options: Sequence[Overview]) -> Overview:
    """Overview of the right options; a task is nearly tied if one of its options is."""
    answered, confidence, n_tasks, near_ties = np.zeros(len(of_options)), 0.0, 0, 0
    for part in tasks.parts():
        n_tasks += len(part.codes)
        answered += part.codes.sum(axis=0)
        confidence += float(_confidence(part).mean(axis=1).sum())
        near_ties += int((np.abs(2 * part.posterior - 1) < NEAR_TIE).any(axis=1).sum())
    known = sum(overview.known for overview in of_options)
    strata: Floats = np.sum([overview.strata for overview in of_options], axis=0)
    return Overview(n_tasks, answered, confidence, near_ties, 0, known, strata)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Multilabel(Result):
    """Result of a fit where tasks have several right answers.

    ``results[option]`` is the whole result for an option, with its workers and their confusion
    matrices, whose classes are False and True. ``posterior[task, option]`` is the probability that
    an option is right, and ``answers[task, option]`` whether it is taken to be. `expected_error` is
    that of the answers, yes or no, of all tasks and options.
    """

    results: Mapping[Any, Result]
    named: int
    separator: str | None = None
    said: Votes | None = None

    @classmethod
    def of(
        cls, results: Mapping[Any, Result], votes: Votes, named: int, separator: str | None
    ) -> Multilabel:
        """Combine the results of all options; `named` is the number of options named in the
        votes."""
        every = list(results.values())
        tasks = OptionAnswers([result.tasks for result in every])
        notes = [note for result in every for note in result.notes]
        return cls(
            model=every[0].model,
            params=tuple(result.params for result in every),
            stats=tuple(result.stats for result in every),
            steps=every[0].steps,
            converged=all(result.converged for result in every),
            seconds=sum(result.seconds for result in every),
            tally=sum((result.tally for result in every), start=np.zeros(2)),
            overview=_overview(tasks, [result.overview for result in every]),
            tasks=tasks,
            notes=tuple(dict.fromkeys([*votes.notes, *notes])),
            codebook=replace(every[0].codebook, classes=votes.codebook.classes),
            kind=votes.kind,
            read=replace(votes.report, repeated=0),
            method=every[0].method,
            votes=every[0].votes,
            items=votes.items,
            results=results,
            named=named,
            separator=separator,
            said=votes,
        )

    def _least_certain(self) -> list[tuple[Any, Any, float]]:
        return []  # a task has an answer for every option

    @property
    def confidence(self) -> Floats:
        """Probability of the answer, yes or no, for each task and option."""
        return _confidence(self.tasks.whole)

    @cached_property
    def shift(self) -> Shift:
        """How far the confidences of all options may be off."""
        checks = [result.check for result in self.results.values() if result.check is not None]
        check = Check(*map(np.concatenate, zip(*checks, strict=True))) if checks else None
        return Shift.of(self.model.calibration(self.params[0]), check)

    def class_share_rows(self) -> list[Share]:
        """The share of the tasks for which each option is right."""
        every = self.results.values()
        return [class_share_intervals(option.overview, option.shift)[1] for option in every]

    @property
    def mixture(self) -> None:
        """None: each option has its own, in `results`."""

    @property
    def n_labels(self) -> int:
        return self.named

    @property
    def iterations(self) -> int:
        """Number of iterations of the option that took most."""
        return max(result.iterations for result in self.results.values())

    @property
    def log_likelihood(self) -> float | None:
        """Sum of the log-likelihoods of the options; None for a method that has none."""
        values = [result.log_likelihood for result in self.results.values()]
        return None if None in values else float(sum(v for v in values if v is not None))

    @property
    def objective(self) -> list[float]:
        """Sum of the options' final objectives, as a list of one."""
        return [sum(result.objective[-1] for result in self.results.values())]

    @property
    def confusion(self) -> None:
        """None: each option has its own, in `results`."""

    @property
    def confusion_table(self) -> Any:
        """A table of option, worker, truth, label, probability and its 95 % interval."""
        return self.kind.give(self._by_option("confusion_table"))

    @cached_property
    def workers_frame(self) -> pl.DataFrame:
        """A table of option, worker, labels, agreement, accuracy and its 95 % interval."""
        return self._by_option("workers_frame")

    def _by_option(self, name: str) -> pl.DataFrame:
        frames = {
            option: getattr(replace(result, kind=Kind()), name)
            for option, result in self.results.items()
        }
        together: pl.DataFrame = pl.concat(
            frame.select(pl.lit(option).alias("option"), pl.all())
            for option, frame in frames.items()
        )
        return together

    def _label_frame(self, tasks: pl.Series, part: Part) -> pl.DataFrame:
        """A row for each option that is right, and one without a label for a task that has none;
        joined to a row for each task where the votes came joined."""
        options = self.codebook.classes.alias("label")
        whole = _confidence(part).prod(axis=1)  # that it is right about every option
        if self.separator is not None:
            label = _joined(part.codes, options, self.separator)
            return pl.DataFrame([tasks.alias("task"), label, pl.Series("confidence", whole)])
        task, option = np.nonzero(part.codes)
        none = np.flatnonzero(~part.codes.any(axis=1))
        names = options.gather(option)
        label = pl.concat([names, pl.Series(names.name, [None] * len(none), dtype=names.dtype)])
        confidence = np.concatenate([part.posterior[task, option], whole[none]])
        order = np.argsort(np.concatenate([task, none]), kind="stable")
        return pl.DataFrame(
            [
                tasks.gather(np.concatenate([task, none])[order]).alias("task"),
                label.gather(order),
                pl.Series("confidence", confidence[order]),
            ]
        )

    def outcome(self) -> Outcome:
        """What writers for other tools need: of each task a list of labels."""
        part, options = self.tasks.whole, self.codebook.classes
        chosen = [options.filter(pl.Series(row)).to_list() for row in part.codes]
        label = pl.Series("label", chosen, dtype=pl.List(options.dtype))
        return self._outcome_of(label, _confidence(part).prod(axis=1), self.said)

    # What each option's result does by itself.

    def predict(self, *_: Any, **__: Any) -> Any:
        """Refuse: use ``results[option].predict``."""
        raise UsageError("Each option has a result of its own: use results[option].predict.")

    def explain(self, *_: Any, **__: Any) -> Any:
        """Refuse: use ``results[option].explain``."""
        raise UsageError("Each option has a result of its own: use results[option].explain.")

    def save(self, path: str | Path) -> None:
        """Refuse: use ``results[option].save``."""
        raise UsageError("Each option has a result of its own: use results[option].save.")

    def write(self, file: BinaryIO) -> None:
        """Refuse, as `save` does."""
        self.save("")


def _joined(chosen: NDArray[Any], options: pl.Series, separator: str) -> pl.Series:
    """Names of each task's options, joined by the separator."""
    names = options.cast(pl.String).to_list()
    joined = [separator.join(compress(names, row)) for row in chosen.tolist()]
    return pl.Series("label", joined, dtype=pl.String)
