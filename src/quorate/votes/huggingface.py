"""Datasets of Hugging Face as frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from quorate.errors import UsageError
from quorate.votes.faults import listed


def dataset_frame(dataset: Any) -> pl.DataFrame:
    """The rows of a dataset, in which codes of a ClassLabel are its names."""
    if isinstance(dataset, Mapping):
        if len(dataset) == 1:
            return dataset_frame(next(iter(dataset.values())))
        raise UsageError(
            f"The dataset has several splits: {listed(dataset)}; give one of them, such as"
            f" dataset[{next(iter(dataset), 'train')!r}]."
        )
    if not hasattr(dataset, "with_format") or not hasattr(dataset, "__len__"):
        raise UsageError("A dataset that is streamed cannot be read: load it without streaming.")
    frame = pl.DataFrame(dataset.with_format("arrow")[:])
    names = {column: getattr(kind, "names", None) for column, kind in dataset.features.items()}
    return frame.with_columns(
        _named(frame[column], known) for column, known in names.items() if known
    )


def _named(codes: pl.Series, names: list[str]) -> pl.Series:
    """Names of codes; null for -1, which stands for no label there."""
    known = codes.is_between(0, len(names) - 1)
    return pl.Series(codes.name, names, dtype=pl.String).gather(codes.set(~known, None))
