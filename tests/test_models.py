"""Every check on every model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.checks import CHECKS, Case, Problem, assert_close, assert_sound, problems, random_problem
from hypothesis import given
from hypothesis import strategies as st

from quorate import DawidSkene, Majority, OneCoin, fit

CASES = (
    Case("majority-shared", Majority, lambda p: {"ties": "shared"}),
    Case("majority-first", Majority, lambda p: {"ties": "first"}),
    Case("majority-random", Majority, lambda p: {"ties": "random"}),
    Case("majority-gold", Majority, gold=True),
    Case("dawid-skene", DawidSkene),
    Case("dawid-skene-smoothed", DawidSkene, lambda p: {"smoothing": 0.3}),
    Case(
        "dawid-skene-smoothed-apart",
        DawidSkene,
        lambda p: {"smoothing": 0.1, "prior_smoothing": 1.5},
    ),
    Case("dawid-skene-uniform-prior", DawidSkene, lambda p: {"prior": "uniform"}),
    Case("dawid-skene-fixed-prior", DawidSkene, lambda p: {"prior": p.shares}),
    Case("dawid-skene-zeros-skipped", DawidSkene, lambda p: {"zeros": "skip"}),
    Case("dawid-skene-gold", DawidSkene, gold=True),
    Case("dawid-skene-worker-prior", DawidSkene, lambda p: {"worker_prior": p.counts}),
    Case("dawid-skene-init", DawidSkene, lambda p: {"init": p.confusion}),
    Case("fast-shared", DawidSkene, lambda p: {"harden": "always", "ties": "shared"}),
    Case("fast-first", DawidSkene, lambda p: {"harden": "always", "ties": "first"}),
    Case("fast-random", DawidSkene, lambda p: {"harden": "always", "ties": "random"}),
    Case("fast-gold", DawidSkene, lambda p: {"harden": "always", "ties": "shared"}, gold=True),
    Case("hybrid-shared", DawidSkene, lambda p: {"harden": "settled", "ties": "shared"}),
    Case("one-coin", OneCoin),
    Case("one-coin-smoothed", OneCoin, lambda p: {"smoothing": 0.3}),
    Case("one-coin-beta", OneCoin, lambda p: {"beta": (4, 2)}),
    Case("one-coin-shifted-beta", OneCoin, lambda p: {"beta": (2, 1), "low": 0.1}),
    Case(
        "one-coin-narrow-beta",
        OneCoin,
        lambda p: {"beta": (2, 1.5), "low": 0.1, "high": 0.95},
    ),
    Case("one-coin-fixed-prior", OneCoin, lambda p: {"prior": p.shares}),
    Case("one-coin-gold", OneCoin, gold=True),
    Case("one-coin-worker-prior", OneCoin, lambda p: {"worker_prior": p.counts}),
    Case("one-coin-init", OneCoin, lambda p: {"init": p.confusion}),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.replace("_", "-"))
def test(check: Any, case: Case) -> None:
    check(case)
