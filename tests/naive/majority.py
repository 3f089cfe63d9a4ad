"""Majority vote: shares of the votes, the classes tied for the lead, and who agrees with them."""

from __future__ import annotations

from collections.abc import Mapping

Votes = list[list[tuple[int, int]]]


def vote_shares(votes: Votes, n_classes: int, gold: Mapping[int, int]) -> list[list[float]]:
    """The share of a task's votes that each class has; a known answer has all of them."""
    shares = []
    for task, said in enumerate(votes):
        row = [0.0] * n_classes
        if task in gold:
            row[gold[task]] = 1.0
        elif not said:
            row = [1 / n_classes] * n_classes
        else:
            for _, label in said:
                row[label] += 1
            row = [count / len(said) for count in row]
        shares.append(row)
    return shares


def leaders(belief: list[float]) -> list[int]:
    """The classes with the highest belief; what differs by rounding alone is tied."""
    best = max(belief)
    return [c for c, value in enumerate(belief) if value >= best * (1 - 1e-12)]


def votes_agreeing(votes: Votes, answers: list[int]) -> int:
    """How many votes name their task's answer."""
    agreeing = 0
    for said, answer in zip(votes, answers, strict=True):
        for _, label in said:
            agreeing += label == answer
    return agreeing


def right_and_wrong(
    votes: Votes, n_workers: int, belief: list[list[float]]
) -> list[tuple[float, float]]:
    """For each worker how many labels are right, and how many wrong, by that belief."""
    tally = []
    for worker in range(n_workers):
        right = wrong = 0.0
        for task, said in enumerate(votes):
            for who, label in said:
                if who == worker:
                    right += belief[task][label]
                    wrong += 1 - belief[task][label]
        tally.append((right, wrong))
    return tally
