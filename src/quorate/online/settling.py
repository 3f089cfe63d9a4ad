"""What `settle` fits with `auto`: the same as `aggregate`, to the same votes and known answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from quorate.aggregation import Plan, fitted
from quorate.engines.threads import Threads
from quorate.fitting import Request
from quorate.labels import Codebook, Labels
from quorate.models import Auto
from quorate.online.ledger import ROLES, Settled
from quorate.online.names import Names
from quorate.votes import KnownAnswers, Votes


def settled_by_auto(
    model: Auto, labels: Labels, names: Mapping[str, Names], gold: Mapping[Any, Any]
) -> Settled:
    """The fit, in the codes of the names that are given."""
    known = None
    if gold:
        tasks, answers = (pl.Series(role, list(of)) for role, of in _columns(gold))
        known = KnownAnswers(tasks, answers, 0)
    engine = Threads()
    result = fitted(_as_read(labels, names), known, Plan(model, Request(engine), discount=None))
    engine.close()
    code = np.array([names["label"].require(name) for name in result.classes], dtype=np.int32)
    posterior = np.zeros((labels.n_tasks, len(names["label"])))
    posterior[:, code] = result.posterior
    return Settled(result, posterior, code[result.answers], None)


def _columns(gold: Mapping[Any, Any]) -> tuple[tuple[str, Any], tuple[str, Any]]:
    return ("task", gold.keys()), ("label", gold.values())


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
