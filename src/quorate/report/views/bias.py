"""What is wrong with a worker's labels, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from quorate.kernels import Floats
from quorate.votes import named

SAYS_MORE, AT_LEAST = 1.5, 5  # times as often as it should; labels to say so
OFTEN = 0.3  # of a class, taken for another
SHOWN = 3  # of each kind


def bias_of(matrix: Floats, names: list[Any]) -> dict[str, Any]:
    """Labels that are said too often or never and classes that are taken for others, by a worker
    with these expected counts ``[truth, label]``; and all of it in sentences, `words`."""
    found = {
        "says_too_often": _too_often(matrix, names),
        "never_says": _never(matrix, names),
        "confuses": _confuses(matrix, names),
    }
    return {**found, "words": list(_words(found)) or ["No bias stands out."]}


def _too_often(matrix: Floats, names: list[Any]) -> list[dict[str, Any]]:
    """Labels that the worker says clearly more often than the answers to the same tasks are."""
    said, truth = matrix.sum(axis=0), matrix.sum(axis=1)
    often = np.flatnonzero((said >= AT_LEAST) & (said > SAYS_MORE * np.maximum(truth, 1)))
    often = often[np.argsort(-(said - truth)[often], kind="stable")][:SHOWN]
    return [
        {
            "label": names[j],
            "said": float(said[j]),
            "expected": float(truth[j]),
            "times": float(said[j] / max(truth[j], 1)),
        }
        for j in often.tolist()
    ]


def _never(matrix: Floats, names: list[Any]) -> list[dict[str, Any]]:
    """Labels that the worker never says, although they were right."""
    said, truth = matrix.sum(axis=0), matrix.sum(axis=1)
    never = np.flatnonzero((said < 0.5) & (truth >= AT_LEAST))
    never = never[np.argsort(-truth[never], kind="stable")][:SHOWN]
    return [{"label": names[j], "expected": float(truth[j])} for j in never.tolist()]


def _confuses(matrix: Floats, names: list[Any]) -> list[dict[str, Any]]:
    """Classes that the worker takes for another, often."""
    given = matrix.sum(axis=1, keepdims=True)
    shares = np.divide(matrix, given, out=np.zeros_like(matrix), where=given >= AT_LEAST)
    np.fill_diagonal(shares, 0)
    order = np.argsort(-shares, axis=None, kind="stable")[:SHOWN]
    places = np.column_stack(np.unravel_index(order, shares.shape)).tolist()
    return [
        {"truth": names[truth], "said": names[said], "share": float(shares[truth, said])}
        for truth, said in places
        if shares[truth, said] >= OFTEN
    ]


def _words(found: Mapping[str, list[dict[str, Any]]]) -> Iterator[str]:
    for row in found["says_too_often"]:
        yield (
            f"Says {named(row['label'])} {row['times']:.1f} times as often as it should:"
            f" {row['said']:,.0f} times, where {row['expected']:,.0f} were to be expected."
        )
    for row in found["never_says"]:
        yield f"Never says {named(row['label'])}, which was right {row['expected']:,.0f} times."
    for row in found["confuses"]:
        pair = f"{named(row['truth'])} for {named(row['said'])}"
        yield f"Takes {pair} in {row['share']:.0%} of the cases."
