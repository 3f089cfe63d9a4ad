"""What the default method is worth: on public crowds, on simulated ones, with known answers.

    python benchmarks/field.py                 # every section, in about an hour on two cores
    python benchmarks/field.py known --draws 5 --sets rte,llmbar

Sections: crowds (accuracy against the vote and every method, calibration, expected error),
simulated (crowds of independent workers), known (with known answers drawn at random: what is
learned, the expected error's interval), decided (--max-error 0.05), duplicates (ten copies of a bad
judge) and cost (time against Dawid-Skene).

Data sets are directories with labels.csv (task, worker, label) and gold.csv (task, label), in
QUORATE_DATA, else ../shared/data (A), and in data-second beside it (B).
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table
from scipy.stats import beta

import quorate
from quorate import Labels, metrics
from quorate.kernels import Floats
from quorate.model import AnyModel
from quorate.models import METHODS, Auto, DawidSkene, make
from quorate.votes import find, read_votes

SCORED = (
    *("rte", "bird", "temp", "trec", "web", "dog", "adult2"),
    *("bm", "sp", "labelme", "d_possent", "weather", "wsd", "s_rel"),
)
LARGE = 50_000  # votes, from which on a tenth of the draws has to do
SLOW = ("m3v", "glad", "ebcc", "naive-bayes")
MAX_ERROR, LEVEL = 0.05, 0.9

console = Console()


class Crowd(NamedTuple):
    name: str
    votes: pl.DataFrame
    labels: Labels
    tasks: pl.Series
    classes: pl.Series
    truth: Any  # -1 where it is not known, and the number of classes where nobody said it

    @property
    def vote(self) -> Floats:
        return self.labels.vote_shares()

    def right(self, posterior: Floats, of: Any = slice(None)) -> float:
        """Percent right, ties shared."""
        never = np.zeros((len(self.truth), 1))
        return 100 * (1 - metrics.error(np.hstack([posterior, never])[of], self.truth[of]))


@cache
def crowd(directory: Path) -> Crowd:
    votes = pl.read_csv(directory / "labels.csv", infer_schema=False)
    gold = pl.read_csv(directory / "gold.csv", infer_schema=False)
    read = read_votes(votes)
    task = find(gold["task"], read.codebook.tasks)
    label = find(gold["label"], read.codebook.classes).fill_null(len(read.codebook.classes))
    truth = np.full(len(read.codebook.tasks), -1)
    truth[task.drop_nulls().to_numpy()] = label.filter(task.is_not_null()).to_numpy()
    book = read.codebook
    return Crowd(directory.name, votes, read.labels, book.tasks, book.classes, truth)


def crowds(arguments: argparse.Namespace) -> Iterator[tuple[str, list[Crowd]]]:
    """The sets of A and of B."""
    first = Path(arguments.data)
    second = first.parent / "data-second"
    names = arguments.sets.split(",") if arguments.sets else None
    groups = {
        "A": [first / name for name in SCORED],
        "B": sorted(second.iterdir()) if second.is_dir() else [],
    }
    for group, directories in groups.items():
        chosen = [d for d in directories if d.is_dir() and (names is None or d.name in names)]
        if chosen:
            yield group, [crowd(directory) for directory in chosen]


def on_crowds(arguments: argparse.Namespace) -> None:
    """Accuracy of every method, and auto's calibration and expected error."""
    for group, sets in crowds(arguments):
        table = Table(group, "vote", "auto", "behind", "ece", "expected", "interval", "wrong")
        rows = []
        for one in sets:
            score, interval = _score(one)
            vote, right, behind, ece, error, wrong = score
            rows.append(score)
            numbers = (f"{vote:.1f}", f"{right:.1f}", f"{behind:.1f}", f"{ece:.3f}")
            table.add_row(one.name, *numbers, f"{error:.1f}", interval, f"{wrong:.1f}")
        vote, right, behind, ece, error, wrong = np.mean(rows, axis=0)
        means = (f"{vote:.2f}", f"{right:.2f}", f"{behind:.2f}", f"{ece:.4f}")
        table.add_row("mean", *means, f"{error:.1f}", "", f"{wrong:.1f}")
        console.print(table)
        lost = [row[2] for row in rows if row[2] < -0.7]
        worst = min(row[2] for row in rows)
        console.print(f"more than 0.7 behind the vote on {len(lost)}, at worst by {-worst:.1f}")
        console.print(_of_others(sets, arguments.slow), "\n")


def _score(one: Crowd) -> tuple[tuple[float, ...], str]:
    """The vote's and auto's accuracy, how far auto is behind, its calibration error, the error that
    it expects and the true one, in per cent; and the interval of the expected."""
    result = quorate.aggregate(one.votes)
    known = one.truth >= 0
    posterior = np.hstack([result.posterior, np.zeros((len(known), 1))])
    ece = metrics.calibration_error(posterior[known], one.truth[known])
    right, vote = one.right(result.posterior), one.right(one.vote)
    error, low, high = (100 * share for share in result.expected_error)
    behind = min(right - vote, 0.0)
    return (vote, right, behind, ece, error, 100 - right), f"{low:.1f} to {high:.1f}"


def _of_others(sets: list[Crowd], slow: bool) -> str:
    """The mean accuracy of every other method that applies to all sets, the best first."""
    means = {}
    for name in METHODS:
        applies = all(one.labels.n_classes == 2 or not _two_only(name) for one in sets)
        if name != "auto" and applies and (slow or name not in SLOW):
            found = [one.right(quorate.fit(make(name), one.labels).posterior) for one in sets]
            means[name] = float(np.mean(found))
    best = sorted(means.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {mean:.2f}" for name, mean in best)


def _two_only(name: str) -> bool:
    return METHODS[name].two_classes_only


def on_simulated(arguments: argparse.Namespace) -> None:
    """48 crowds of independent workers: classes, votes of a task, and three kinds of crowds."""
    rows = []
    for number, (n_classes, n_votes, kind) in enumerate(
        (k, v, kind)
        for k in (2, 3, 5, 10)
        for v in (2, 3, 5, 10)
        for kind in ("honest", "spammers", "adversaries and skewed classes")
    ):
        labels, truth = independent(n_classes, n_votes, kind, seed=1000 + number)
        result = quorate.fit(Auto(), labels)
        error = 100 * metrics.error(result.posterior, truth)
        vote = 100 * metrics.error(labels.vote_shares(), truth)
        ece = metrics.calibration_error(result.posterior, truth)
        rows.append((vote, error, ece, 100 * result.expected_error.error, result.params.dependence))
    vote, error, ece, expected, delta = np.mean(rows, axis=0)
    off = np.abs(np.diff(np.array(rows)[:, [1, 3]], axis=1)).mean()
    console.print(
        f"{len(rows)} simulated crowds: vote {vote:.1f} % wrong, auto {error:.1f} %, expected"
        f" {expected:.1f} % ({off:.1f} points off in the mean), ece {ece:.4f}, delta {delta:.2f}\n"
    )


def independent(n_classes: int, n_votes: int, kind: str, seed: int) -> tuple[Labels, Any]:
    """600 tasks, each labelled by some of 60 workers."""
    random, n_tasks, n_workers = np.random.default_rng(seed), 600, 60
    shares = np.full(n_classes, 1 / n_classes)
    if kind.startswith("adversaries"):
        shares = 0.6 * np.sort(random.dirichlet(np.ones(n_classes)))[::-1]
        shares[0] += 0.4
    truth = random.choice(n_classes, n_tasks, p=shares)
    confusion = np.stack([_worker(n_classes, kind, random) for _ in range(n_workers)])
    task = np.repeat(np.arange(n_tasks), n_votes)
    worker = np.concatenate(
        [random.choice(n_workers, n_votes, replace=False) for _ in range(n_tasks)]
    )
    chances = confusion[worker, truth[task]].cumsum(axis=1)
    label = (random.random(len(task))[:, None] > chances[:, :-1]).sum(axis=1)
    return Labels.from_codes(task, worker, label, n_workers=n_workers, n_classes=n_classes), truth


def _worker(n_classes: int, kind: str, random: np.random.Generator) -> Floats:
    """A confusion matrix ``[truth, label]``."""
    right = np.clip(random.beta(6, 2.5) + random.normal(0, 0.08, n_classes), 0.05, 0.98)
    confusion = np.zeros((n_classes, n_classes))
    for truth in range(n_classes):
        others = np.arange(n_classes) != truth
        confusion[truth, truth] = right[truth]
        confusion[truth, others] = (1 - right[truth]) * random.dirichlet(np.ones(n_classes - 1))
    chance = random.random()
    if kind == "spammers" and chance < 0.35:
        confusion[:] = random.dirichlet(np.full(n_classes, 0.7))
    if kind.startswith("adversaries") and chance < 0.15:
        confusion = np.roll(confusion, 1, axis=1)
    elif kind.startswith("adversaries") and chance < 0.25:
        confusion[:] = random.dirichlet(np.ones(n_classes))
    return confusion


class Draw(NamedTuple):
    """A result with some answers known, the other tasks, and the known ones' number."""

    result: Any
    rest: Any
    n_known: int


def draws(one: Crowd, n_known: int, n_draws: int, **how: Any) -> Iterator[Draw]:
    """Results with `n_known` answers known, or a quarter where there are fewer than four times as
    many, drawn at random."""
    named = np.flatnonzero((one.truth >= 0) & (one.truth < len(one.classes)))
    size = n_known if len(named) >= 4 * n_known else len(named) // 4
    if one.labels.n_labels > LARGE:
        n_draws = max(n_draws // 10, 1)
    for seed in range(n_draws):
        picked = np.random.default_rng(seed).permutation(named)[:size]
        gold = pl.DataFrame(
            {"task": one.tasks.gather(picked), "label": one.classes.gather(one.truth[picked])}
        )
        rest = np.setdiff1d(np.flatnonzero(one.truth >= 0), picked)
        yield Draw(quorate.aggregate(one.votes, gold=gold, **how), rest, size)


def with_known(arguments: argparse.Namespace) -> None:
    """What 50 known answers teach, and the interval of the expected error."""
    for group, sets in crowds(arguments):
        table = Table(group, "known", "without", "with", "gain", "held", "width", "binomial's")
        rows = []
        for one in sets:
            without = quorate.aggregate(one.votes).posterior
            scores = [_with_known(one, draw, without) for draw in draws(one, 50, arguments.draws)]
            before, after, held, width, binomial, known = np.mean(scores, axis=0)
            rows.append((before, after, held, width, binomial))
            cells = (f"{before:.1f}", f"{after:.1f}", f"{after - before:+.1f}", f"{held:.2f}")
            table.add_row(one.name, f"{known:.0f}", *cells, f"{width:.3f}", f"{binomial:.3f}")
        before, after, held, width, binomial = np.mean(rows, axis=0)
        worst = min(row[1] - row[0] for row in rows)
        cells = (f"{before:.2f}", f"{after:.2f}", f"{after - before:+.2f}", f"{held:.3f}")
        table.add_row("mean", "", *cells, f"{width:.3f}", f"{binomial:.3f}")
        console.print(table)
        console.print(f"at worst {worst:+.1f} points\n")


def _with_known(one: Crowd, draw: Draw, without: Floats) -> tuple[float, ...]:
    result, rest, n = draw
    right = one.right(result.posterior, rest)
    expected = result.expected_error
    held = expected.low <= 1 - right / 100 <= expected.high
    wrong = 0.0 if result.check is None else float(n - result.check.right.sum())
    low, high = binomial_interval(wrong, n)
    before = one.right(without, rest)
    return before, right, held, expected.high - expected.low, high - low, n


def binomial_interval(wrong: float, n: int) -> tuple[float, float]:
    """Clopper and Pearson's."""
    tail = (1 - LEVEL) / 2
    low = float(beta.ppf(tail, wrong, n - wrong + 1)) if wrong else 0.0
    return low, float(beta.ppf(1 - tail, wrong + 1, n - wrong)) if wrong < n else 1.0


def decided(arguments: argparse.Namespace) -> None:
    """--max-error 0.05 with 100 known answers."""
    ratios = []
    for group, sets in crowds(arguments):
        table = Table(group, "known", "decided", "in hindsight", "wrong", "above", "promised")
        for one in sets:
            found = draws(one, 100, arguments.draws, max_error=MAX_ERROR)
            scores = [_decided(one, draw) for draw in found]
            known, share, best, wrong, above, promised = np.mean(scores, axis=0)
            if best > 0.5:
                ratios.append(share / best)
            cells = (f"{share:.2f}", f"{best:.2f}", f"{wrong:.3f}", f"{above:.2f}")
            table.add_row(one.name, f"{known:.0f}", *cells, f"{promised:.0f}")
        console.print(table)
    if ratios:
        console.print(f"{np.mean(ratios):.3f} of hindsight's share, over {len(ratios)} sets\n")


def _decided(one: Crowd, draw: Draw) -> tuple[float, ...]:
    result, rest, n = draw
    confidence = result.confidence[rest]
    wrong = result.answers[rest] != one.truth[rest]
    order = np.argsort(-confidence, kind="stable")
    errors = wrong[order].cumsum() / np.arange(1, len(order) + 1)
    enough = np.flatnonzero(errors <= MAX_ERROR)
    best = (enough[-1] + 1) / len(order) if len(enough) else 0.0
    chosen = confidence >= result.min_confidence
    error = float(wrong[chosen].mean()) if chosen.any() else 0.0
    return n, chosen.mean(), best, error, error > MAX_ERROR, result.decision.promised


def duplicates(arguments: argparse.Namespace) -> None:
    """Ten copies of one bad judge among five good ones: how many labels they change."""
    changed = []
    for seed in range(arguments.draws):
        random = np.random.default_rng(seed)
        truth = random.integers(2, size=1000)
        judges = [np.where(random.random(1000) < 0.85, truth, 1 - truth) for _ in range(5)]
        bad = np.where(random.random(1000) < 0.55, truth, 1 - truth)
        copies = [bad] * 10
        without, with_copies = (
            quorate.aggregate(np.stack(some, axis=1)).answers
            for some in (judges + copies[:1], judges + copies)
        )
        changed.append(float((without != with_copies).mean()))
    console.print(
        f"ten copies of a bad judge change {np.mean(changed):.2%} of the labels, at most"
        f" {np.max(changed):.2%}\n"
    )


def cost(arguments: argparse.Namespace) -> None:
    """Seconds of a fit of auto for each of Dawid-Skene's, at a million votes."""
    for n_workers, n_classes in ((1000, 2), (2000, 4), (10_000, 4), (20_000, 2)):
        crowd = quorate.simulate(n_workers, 200_000, 5, n_classes=n_classes, seed=1)
        ratios = []
        for _ in range(3):
            theirs, ours = (_seconds(model, crowd.labels) for model in (DawidSkene(), Auto()))
            ratios.append(ours / theirs)
        console.print(
            f"{crowd.labels.n_labels:,} votes of {n_workers:,} workers in {n_classes} classes: auto"
            f" takes {np.median(ratios):.1f} times as long as dawid-skene"
        )


def _seconds(model: AnyModel, labels: Labels) -> float:
    began = time.process_time()
    quorate.fit(model, labels)
    return time.process_time() - began


SECTIONS: dict[str, Callable[[argparse.Namespace], None]] = {
    "crowds": on_crowds,
    "simulated": on_simulated,
    "known": with_known,
    "decided": decided,
    "duplicates": duplicates,
    "cost": cost,
}


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS], default=[])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--sets", default="")
    parser.add_argument("--slow", action="store_true", help="Every method, slow ones too.")
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("--data", default=os.environ.get("QUORATE_DATA", default))
    arguments = parser.parse_args(given)
    for name in arguments.sections or SECTIONS:
        SECTIONS[name](arguments)


if __name__ == "__main__":
    main()
