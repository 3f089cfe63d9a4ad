"""What `settle` finds: with `auto` the same as `aggregate`, of the same votes and known answers;
and how it is kept, so that it need not be fitted again."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from quorate.aggregation import Plan, fitted
from quorate.engines.threads import Threads
from quorate.errors import DataError
from quorate.fitting import Request
from quorate.labels import Codebook, Labels
from quorate.models import Auto
from quorate.online.ledger import ROLES, KeptFit, Settled
from quorate.online.names import Names
from quorate.result import Result, load
from quorate.votes import KnownAnswers, Votes, with_gold


def fit_by_auto(
    model: Auto, labels: Labels, names: Mapping[str, Names], gold: Mapping[Any, Any]
) -> Callable[[], Result]:
    """The fit of these votes, still to be made: votes that come meanwhile change nothing in it."""
    votes, known = _as_read(labels, names), _known_answers(gold)

    def fit() -> Result:
        engine = Threads()
        result = fitted(votes, known, Plan(model, Request(engine), discount=None))
        engine.close()
        return result

    return fit


def in_codes_of(names: Mapping[str, Names], result: Result) -> Settled:
    """What auto has found, in the codes of names."""
    code = np.array([names["label"].require(name) for name in result.classes], dtype=np.int32)
    posterior = np.zeros((len(result.posterior), len(names["label"])))
    posterior[:, code] = result.posterior
    return Settled(result, posterior, code[result.answers], None)


def settled_by_em(result: Result) -> Settled:
    """What the model of the votes that come between has found itself."""
    return Settled(result, result.posterior, result.answers, result.params.state.hard)


def votes_of_auto(labels: Labels, names: Mapping[str, Names], gold: Mapping[Any, Any]) -> Votes:
    """What auto is fitted to, but for a discount."""
    votes, known = _as_read(labels, names), _known_answers(gold)
    return votes if known is None else with_gold(votes, known)


def kept_fit(result: Result) -> KeptFit:
    """A settled result to keep; without its votes, and the intervals that are made of them."""
    file = io.BytesIO()
    assert result.votes is not None
    replace(result, votes=None, saved_spread=None).write(file)
    return KeptFit(file.getvalue(), result.votes.labels.weight)


def result_kept(fit: KeptFit, votes: Votes) -> Result | None:
    """The result that was kept, of these votes; None if it cannot be."""
    if fit.weight is not None:
        votes = votes.with_blocks(votes.blocks.attach("weight", [fit.weight]))
    try:
        result = load(io.BytesIO(fit.result))  # type: ignore[arg-type]
    except DataError:
        return None
    of_these = all(
        getattr(result.codebook, names).equals(getattr(votes.codebook, names))
        for names in ("tasks", "workers", "classes")
    )
    if not of_these:
        return None
    return replace(result, codebook=votes.codebook, votes=votes, saved_intervals=None)


def _known_answers(gold: Mapping[Any, Any]) -> KnownAnswers | None:
    if not gold:
        return None
    return KnownAnswers(pl.Series("task", list(gold)), pl.Series("label", list(gold.values())), 0)


def _as_read(labels: Labels, names: Mapping[str, Names]) -> Votes:
    """The votes as they are read from a table: with the classes that occur, sorted."""
    said = np.flatnonzero(np.bincount(labels.label, minlength=labels.n_classes)).tolist()
    order = sorted(said, key=names["label"].names.__getitem__)
    code = np.zeros(labels.n_classes, dtype=np.int32)
    code[order] = np.arange(len(order))
    book = {role: names[role].names for role in ROLES}
    book["label"] = [book["label"][i] for i in order]
    labels = replace(labels, label=code[labels.label], n_classes=len(order))
    return Votes.of(labels, Codebook(*(pl.Series(role, book[role]) for role in ROLES)))
