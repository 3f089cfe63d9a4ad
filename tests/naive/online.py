"""Section 5 of the Fast Dawid-Skene paper in plain loops: every count is made anew from all votes
and beliefs at each M-step."""

from __future__ import annotations

from collections import Counter
from math import exp, log
from typing import Any


class Online:
    def __init__(self, model: Any, n_classes: int, half_life: float | None = None) -> None:
        self.model, self.n_classes, self.half_life = model, n_classes, half_life
        self.votes: dict[Any, list[tuple[Any, int, int]]] = {}  # the last: the worker's how-manieth
        self.cast: Counter[Any] = Counter()
        self.believed: dict[Any, list[float]] = {}
        self.gold: dict[Any, int] = {}
        self.harden_when = getattr(model, "harden", "never")
        self.hard = self.harden_when == "always"

    def add(self, votes: list[tuple[Any, Any, int]]) -> list[float]:
        """Votes that are counted together; returns what is believed of the first one's task."""
        before = self.shares()
        tasks = list(dict.fromkeys(task for task, _, _ in votes))
        for task, worker, label in votes:
            self.votes.setdefault(task, []).append((worker, label, self.cast[worker]))
            self.cast[worker] += 1
        return self.count(tasks, before)

    def know(self, task: Any, label: int | None) -> None:
        """A task's answer is known from now on, or (None) it is not any more."""
        before = self.shares()
        if label is None:
            del self.gold[task]
        else:
            self.gold[task] = label
        if task in self.votes:
            self.count([task], before)

    def count(self, tasks: list[Any], before: list[float] | None) -> list[float]:
        for task in tasks:
            said = self.votes[task]
            vote = [sum(c == k for _, c, _ in said) / len(said) for k in range(self.n_classes)]
            self.believed[task] = self.known(task) or self.harden(vote)
        posterior = {task: self.known(task) or self.e_step(task) for task in tasks}
        for task in tasks:
            self.believed[task] = self.known(task) or self.harden(posterior[task])
        if self.harden_when == "settled" and not self.hard and before is not None:
            moved = sum(abs(a - b) for a, b in zip(before, self.shares() or [], strict=True))
            self.hard = moved < self.model.switch_at
        return posterior[tasks[0]]

    def known(self, task: Any) -> list[float] | None:
        if task not in self.gold:
            return None
        return [float(k == self.gold[task]) for k in range(self.n_classes)]

    def weight(self, worker: Any, number: int) -> float:
        """Half after as many more votes of the worker as the half-life."""
        since = self.cast[worker] - 1 - number
        return 1.0 if self.half_life is None else float(2.0 ** (-since / self.half_life))

    def harden(self, belief: list[float]) -> list[float]:
        if not self.hard:
            return belief
        best = max(belief) * (1 - 1e-12)
        first = next(k for k in range(self.n_classes) if belief[k] >= best)
        return [float(k == first) for k in range(self.n_classes)]

    def shares(self) -> list[float] | None:
        if not self.believed:
            return None
        sums = [sum(b[k] for b in self.believed.values()) for k in range(self.n_classes)]
        return [s / sum(sums) for s in sums]

    def prior(self) -> list[float]:
        if self.model.prior == "uniform":
            return [1 / self.n_classes] * self.n_classes
        smoothing = self.model.smoothing
        sums = [
            sum(b[k] for b in self.believed.values()) + smoothing for k in range(self.n_classes)
        ]
        return [s / sum(sums) for s in sums]

    def probability(self, worker: Any, truth: int, label: int) -> float:
        if type(self.model).__name__ == "OneCoin":
            right = wrong = float(self.model.smoothing)
            for task, said in self.votes.items():
                for who, c, number in said:
                    if who == worker:
                        right += self.weight(who, number) * self.believed[task][c]
                        wrong += self.weight(who, number) * (1 - self.believed[task][c])
            accuracy = right / (right + wrong)
            return accuracy if label == truth else (1 - accuracy) / (self.n_classes - 1)
        counts = [self.model.smoothing] * self.n_classes
        for task, said in self.votes.items():
            for who, c, number in said:
                if who == worker:
                    counts[c] += self.weight(who, number) * self.believed[task][truth]
        return counts[label] / sum(counts) if sum(counts) > 0 else 0.0

    def e_step(self, task: Any) -> list[float]:
        log_joint = []
        for truth, share in enumerate(self.prior()):
            factors = [share] + [self.probability(w, truth, c) for w, c, _ in self.votes[task]]
            # What is all but zero is a rounding error of counts that were moved.
            log_joint.append(sum(log(p) if p > 1e-13 else -1e9 for p in factors))
        weights = [exp(value - max(log_joint)) for value in log_joint]
        return [w / sum(weights) for w in weights]
