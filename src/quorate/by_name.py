"""Options of models that name workers or classes, turned into arrays in code order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from quorate.errors import DataError, UsageError
from quorate.kernels import Floats
from quorate.labels import Codebook
from quorate.models.em import PRIORS, no_prior
from quorate.models.moments import Spectral
from quorate.result import Result, load
from quorate.votes import complete_rows, find, listed, match, read_table, shown

RESULT_SUFFIX = ".quorate"
START_NAMES = ("vote", "spectral")  # values of `init` that are no table


def in_codes(model: Any, book: Codebook, *, check_arrays: bool = True) -> tuple[Any, list[str]]:
    """The model with options that name workers or classes as arrays in code order; and notes.
    Options that are arrays already are checked, unless the caller knows what they are."""
    notes: list[str] = []
    coded: dict[str, Any] = {}
    given = {f.name: getattr(model, f.name) for f in fields(model)}
    if not check_arrays:
        given = {n: value for n, value in given.items() if not isinstance(value, np.ndarray)}
    if "prior" in given:
        coded["prior"] = _shares(given["prior"], book)
    for option, value in (("init", "probability"), ("worker_prior", "count")):
        matrices = given.get(option)
        if matrices is not None and not _is_start(option, matrices):
            coded[option] = _matrices(option, value, matrices, book, notes)
    changed = {name: value for name, value in coded.items() if value is not getattr(model, name)}
    return (replace(model, **changed) if changed else model), notes


def _is_start(option: str, given: Any) -> bool:
    """Whether the value of `init` names a start, and not a table or a file."""
    return option == "init" and (isinstance(given, Spectral) or str(given) in START_NAMES)


def _shares(prior: Any, book: Codebook) -> Any:
    if isinstance(prior, str):
        if prior in PRIORS:
            return prior
        prior = _parse_shares(prior)
    try:
        shares = np.asarray(_in_order(prior, book) if hasattr(prior, "items") else prior, float)
    except (TypeError, ValueError):
        shares = np.empty(0)
    fits = shares.shape == (len(book.classes),) and np.isfinite(shares).all()
    with np.errstate(over="ignore"):
        adds_up = 0 < shares.sum() < np.inf
    if not fits or (shares < 0).any() or not adds_up:
        raise UsageError(
            f"prior needs a share of at least 0 for each of the {len(book.classes)} classes"
            f" ({listed(book.classes)}), not {shown(prior)}."
        )
    return prior if isinstance(prior, np.ndarray) else shares / shares.sum()


def _in_order(shares: Any, book: Codebook) -> list[Any]:
    """Shares by name in the order of the classes; empty if the names are not the classes."""
    named = list(shares.items())
    where = find(book.classes, pl.Series([name for name, _ in named]))
    if where.null_count() or len(where) != len(named):
        return []
    return [named[i][1] for i in where]


def _parse_shares(text: str) -> list[float] | dict[str, float]:
    try:
        parts = [part.rpartition("=") for part in text.split(",")]
        if not any(equals for _, equals, _ in parts):
            return [float(share) for _, _, share in parts]
        shares = {name.strip(): float(share) for name, equals, share in parts if equals}
        if len(shares) < len(parts):
            raise ValueError
        return shares
    except ValueError:
        raise no_prior(text) from None


def _matrices(option: str, value: str, given: Any, book: Codebook, notes: list[str]) -> Any:
    """Array ``[worker, truth, label]`` from an array, a table, a mapping, or an earlier result."""
    if isinstance(given, np.ndarray):
        return _checked(option, given)
    if isinstance(given, (str, Path)) and str(given).endswith(RESULT_SUFFIX):
        given = load(given)
    if isinstance(given, Result):
        given = _as_table(option, value, given)
    if isinstance(given, Mapping):
        return _from_mapping(option, given, book, notes)
    table = read_table(given, ("worker", "truth", "label", value))
    number = pl.col(value).cast(pl.Float64, strict=False)
    frame = complete_rows(table).with_columns(number).drop_nulls()
    rows = len(table.frame)
    if len(frame) < rows:
        lacking = rows - len(frame)
        notes.append(f"{lacking} of {rows} rows of {option} lack a field, and are left out.")
    worker = find(frame["worker"], book.workers)
    truth, label = (
        match(frame[role], book.classes, f"{option} has the {role}") for role in ("truth", "label")
    )
    matrices = np.zeros((len(book.workers), len(book.classes), len(book.classes)))
    known = worker.is_not_null()
    at = tuple(c.filter(known).to_numpy() for c in (worker, truth, label))
    np.add.at(matrices, at, frame[value].filter(known).to_numpy())
    n_unknown = frame["worker"].filter(~known).n_unique()
    return _complete(option, matrices, n_unknown, frame["worker"].n_unique(), notes)


def _as_table(option: str, value: str, result: Result) -> pl.DataFrame:
    if option == "init":
        if result.confusion is None:
            raise UsageError(f"{result.method or 'This model'} has no confusion matrices.")
        return result.by_worker(result.confusion, value)
    history = result.history
    if history is None:
        raise UsageError(
            f"{option} cannot come from {result.method}, which does not weight workers."
        )
    return result.by_worker(history, value)


def _from_mapping(
    option: str, given: Mapping[Any, Any], book: Codebook, notes: list[str]
) -> Floats:
    shape = (len(book.classes), len(book.classes))
    matrices = np.zeros((len(book.workers), *shape))
    workers = read_table([(name,) for name in given], ("worker",)).frame["worker"]
    code = find(workers, book.workers)
    for i, (name, matrix) in zip(code, given.items(), strict=True):
        matrix = _checked(option, matrix)
        if matrix.shape != shape:
            raise UsageError(
                f"{option} for {shown(name)} has the shape {matrix.shape}, where {shape} was"
                " expected."
            )
        if i is not None:
            matrices[i] = matrix
    return _complete(option, matrices, code.null_count(), len(given), notes)


def _complete(option: str, matrices: Floats, n_unknown: int, of: int, notes: list[str]) -> Floats:
    """Note the workers without votes, and give every worker a matrix where a start needs one."""
    if n_unknown:
        notes.append(
            f"{n_unknown} of {of} workers in {option} have no votes here, and are left out."
        )
    if not of:
        notes.append(f"There is nothing in {option}.")
    matrices = _checked(option, matrices)
    if option == "init":
        given = matrices.any(axis=(1, 2))
        if not given.any():
            raise DataError("init has no matrix for any worker of these votes.")
        crowd = matrices.sum(axis=0)
        met = crowd.sum(axis=1, keepdims=True)
        matrices[~given] = crowd / np.where(met > 0, met, 1)
    return matrices


def _checked(option: str, given: Any) -> Floats:
    try:
        matrices = np.atleast_1d(np.asarray(given, dtype=float, order="C"))
    except (TypeError, ValueError):
        matrices = np.full(1, np.nan)
    if not (np.isfinite(matrices).all() and (matrices >= 0).all()):
        raise DataError(f"{option} has a value that is negative, or not a number.")
    sums = matrices.sum(axis=-1)
    if option == "init" and not (np.isclose(sums, 1, atol=0.01) | (sums == 0)).all():
        raise DataError("init has probabilities of one worker and truth that do not sum to 1.")
    return matrices
