"""Rankings: the maximum of choix, a million comparisons, and Crowd-Kit's NoisyBradleyTerry.

    python benchmarks/rank.py                  # all three
    python benchmarks/rank.py --comparisons 50000 --systems 100

Processor time, which counts all threads; the ratio is that of one run of NoisyBradleyTerry and the
middle of three of ours, before and after it, on the same comparisons in this process. Linear
algebra has one thread, in both.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # whose threads burn time while they wait

import numpy as np
import polars as pl

import quorate

MILLION, MANY_SYSTEMS, MANY_JUDGES = 1_000_000, 1_000, 100


def comparisons(n: int, systems: int, judges: int, ties: bool, seed: int = 0) -> pl.DataFrame:
    """Comparisons by judges who differ in reliability and lean to a side."""
    random = np.random.default_rng(seed)
    strength = random.normal(size=systems)
    reliability = np.exp(random.normal(size=judges) * 0.5)
    side = random.normal(size=judges) * 0.3
    left = random.integers(systems, size=n)
    right = (left + random.integers(1, systems, size=n)) % systems
    who = random.integers(judges, size=n)
    u = reliability[who] * (strength[left] - strength[right]) + side[who]
    log_tie = np.full(n, -0.5 if ties else -np.inf)
    odds = np.exp(np.stack([u / 2, log_tie, -u / 2], axis=1))
    shares = (odds / odds.sum(axis=1, keepdims=True)).cumsum(axis=1)
    said = (random.random(n)[:, None] > shares).sum(axis=1)
    names = np.array([f"system {i}" for i in range(systems)])
    winner = np.choose(said, [names[left], "tie", names[right]])
    judge = np.array([f"judge {i}" for i in range(judges)])[who]
    columns = {"left": names[left], "right": names[right], "worker": judge, "winner": winner}
    return pl.DataFrame(columns)


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """What a function returns, and the processor time that it takes."""
    began = time.process_time()
    found = run()
    return found, time.process_time() - began


def against_choix() -> float:
    """How far strengths are from choix's maximum of the likelihood, at most."""
    import choix

    table = comparisons(5_000, 50, 1, ties=False)
    code = {name: i for i, name in enumerate(sorted(table["left"].unique()))}
    pairs = [
        (code[won], code[left if won == right else right]) for left, right, _, won in table.rows()
    ]
    found = quorate.rank(table, by_worker=False, position=False)
    theirs = choix.opt_pairwise(len(code), pairs, alpha=0, method="Newton-CG", tol=1e-12)
    return float(np.abs(found.strength - (theirs - theirs.mean())).max())


def a_million() -> float:
    """Seconds for a million comparisons."""
    table = comparisons(MILLION, MANY_SYSTEMS, MANY_JUDGES, ties=True)
    found, seconds = timed(lambda: quorate.rank(table))
    if not found.converged:
        raise RuntimeError("The million comparisons did not converge.")
    return seconds


class Race(NamedTuple):
    """Seconds of ours (the middle of three runs) and of NoisyBradleyTerry on the same comparisons,
    and the rank correlation of their strengths."""

    ours: float
    theirs: float
    alike: float

    @property
    def times(self) -> float:
        return self.theirs / self.ours

    def __str__(self) -> str:
        return (
            f"{self.times:.0f} times: {self.ours:.2f} s against {self.theirs:.1f} s; rank"
            f" correlation {self.alike:.3f}"
        )


def against_crowdkit(n: int, systems: int) -> Race:
    """Ours twice, theirs, and ours again, in this process."""
    from crowdkit.aggregation import NoisyBradleyTerry

    table = comparisons(n, systems, MANY_JUDGES, ties=False)
    frame = table.rename({"winner": "label"}).to_pandas()
    first = [timed(lambda: quorate.rank(table))[1] for _ in range(2)]
    scores, theirs = timed(lambda: NoisyBradleyTerry(n_iter=100).fit_predict(frame))
    found, last = timed(lambda: quorate.rank(table))
    both = found.systems_frame.join(
        pl.DataFrame({"system": list(scores.index), "score": scores.to_numpy()}), on="system"
    )
    alike = both.select(pl.corr("strength", "score", method="spearman")).item()
    return Race(float(np.median([*first, last])), theirs, alike)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--comparisons", type=int, default=50_000)
    parser.add_argument("--systems", type=int, default=100)
    given = parser.parse_args()
    apart = against_choix()
    print(f"choix's maximum likelihood, 5,000 comparisons of 50 systems: {apart:.1e} apart")
    race = against_crowdkit(given.comparisons, given.systems)
    print(f"{given.comparisons:,} comparisons of {given.systems} systems: {race}")
    seconds = a_million()
    print(
        f"{MILLION:,} comparisons of {MANY_SYSTEMS:,} systems by {MANY_JUDGES} judges:"
        f" {seconds:.1f} s"
    )


if __name__ == "__main__":
    main()
