"""Names and their codes: find, match, and give text its type back."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from quorate.errors import DataError
from quorate.kernels import Keys
from quorate.votes.faults import listed, shown

AT_A_TIME = 1 << 16  # names that are taken out of their table
WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]*")


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


def keys(names: pl.Series) -> Keys:
    """A number for each name, from nothing but how it is spelt: whole numbers are their own.

    Examples:
        >>> keys(pl.Series(["7", "ann"])), keys(pl.Series([7]))
        (array([         7, 3877663347], dtype=uint64), array([7], dtype=uint64))
    """
    if names.dtype in (pl.Int64, pl.Int32, pl.Int16, pl.Int8):
        return names.cast(pl.Int64).to_numpy().view(np.uint64)
    text = names.cast(pl.String)
    number = text.cast(pl.Int64, strict=False)
    spelt_so = number.cast(pl.String).eq_missing(text).to_numpy()
    found = number.fill_null(0).to_numpy().astype(np.int64).view(np.uint64)
    others = text.filter(~pl.Series(spelt_so)).cast(pl.Binary)
    some = (others[start : start + AT_A_TIME] for start in range(0, len(others), AT_A_TIME))
    words = chain.from_iterable(part.to_list() for part in some)
    found[~spelt_so] = np.fromiter(map(zlib.crc32, words), np.uint64, len(others))
    return found


def key(name: Any) -> int:
    """The key of one name, in plain Python.

    Examples:
        >>> key(7), key("7"), key("ann")
        (7, 7, 3877663347)
    """
    text = str(name).lower() if isinstance(name, bool) else str(name)
    if WHOLE_NUMBER.fullmatch(text) and -(2**63) <= int(text) < 2**63:
        return int(text) % 2**64
    return zlib.crc32(text.encode())


def whole_numbers(words: Sequence[str]) -> list[int]:
    """Those of the words that are whole numbers of 64 bits, to the letter."""
    numbers = (int(word) for word in words if WHOLE_NUMBER.fullmatch(word))
    return [number for number in numbers if -(2**63) <= number < 2**63]


def retyped(names: pl.Series) -> pl.Series:
    """Names that were read as text, as whole numbers or booleans if all of them are spelt so: 7
    becomes a number, 007 stays text."""
    if len(names) > AT_A_TIME and retyped(names.head(AT_A_TIME)).dtype == names.dtype:
        return names  # what the first are not all of them are not
    for dtype in (pl.Int64, pl.Boolean):
        if dtype == pl.Boolean and not names.is_in(["true", "false"]).all():
            continue
        typed = names == "true" if dtype == pl.Boolean else names.cast(dtype, strict=False)
        if typed.cast(pl.String).eq_missing(names).all():
            return typed
    return names


def retyped_columns(rows: pl.LazyFrame, names: Sequence[str]) -> pl.LazyFrame:
    """The same of columns of a query, each of which is gone through once for that."""
    number = {name: pl.col(name).cast(pl.Int64, strict=False) for name in names}
    spelt_so = [n.cast(pl.String).eq_missing(pl.col(name)).all() for name, n in number.items()]
    truth = [pl.col(name).is_in(["true", "false"]).all().name.suffix("?") for name in names]
    found = rows.select(*spelt_so, *truth).collect(engine="streaming").row(0, named=True)
    typed = [
        number[name] if found[name] else (pl.col(name) == "true").alias(name)
        for name in names
        if found[name] or found[f"{name}?"]
    ]
    return rows.with_columns(typed)
