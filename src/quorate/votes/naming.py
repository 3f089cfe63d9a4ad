"""Names and their codes: find, match, and give text its type back."""

from __future__ import annotations

import polars as pl

from quorate.errors import DataError
from quorate.votes.faults import listed, shown


def match(names: pl.Series, known: pl.Series, what: str) -> pl.Series:
    """Codes of names that must all be known."""
    codes = find(names, known)
    if codes.null_count():
        stranger = names.filter(codes.is_null())[0]
        raise DataError(f"{what} {shown(stranger)}, which is none of {listed(known, 12)}.")
    return codes


def find(names: pl.Series, known: pl.Series) -> pl.Series:
    """Codes of names, null for unknown ones; names of different types are compared as text."""
    if names.dtype != known.dtype:
        names, known = names.cast(pl.String), known.cast(pl.String)
    codes = pl.arange(0, len(known), dtype=pl.Int32, eager=True)
    return names.replace_strict(known, codes, default=None, return_dtype=pl.Int32)


def retyped(names: pl.Series) -> pl.Series:
    """Names that were read as text, as whole numbers or booleans if all of them are spelt so: 7
    becomes a number, 007 stays text."""
    for dtype in (pl.Int64, pl.Boolean):
        if dtype == pl.Boolean and not names.is_in(["true", "false"]).all():
            continue
        typed = names == "true" if dtype == pl.Boolean else names.cast(dtype, strict=False)
        if typed.cast(pl.String).eq_missing(names).all():
            return typed
    return names
