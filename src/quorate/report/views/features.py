"""Features of tasks: which speak most for a class, where the method has learned from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate.result import Result

SHOWN = 40


def features_view(result: Result) -> dict[str, Any] | None:
    """Features with their rate in the class where they are most frequent and in the others, those
    that tell most first; None where none were learned from."""
    rates, names = getattr(result.params, "feature_rate", None), result.codebook.features
    if rates is None or names is None or not len(names) or len(result.classes) < 2:
        return None
    shares = np.maximum(result.overview.answered, 1e-9)
    top = rates.argmax(axis=1)
    highest = rates[np.arange(len(rates)), top]
    others = (rates @ shares - highest * shares[top]) / np.maximum(shares.sum() - shares[top], 1e-9)
    order = np.argsort(-np.abs(highest - others), kind="stable")[:SHOWN].tolist()
    rows = [
        {
            "feature": names[i],
            "label": result.classes[int(top[i])],
            "rate": float(highest[i]),
            "elsewhere": float(others[i]),
        }
        for i in order
    ]
    return {"rows": rows, "shown": len(rows), "of": len(names)}
