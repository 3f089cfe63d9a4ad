"""Comparisons of pairs as Crowd-Kit has them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from quorate.crowdkit import BradleyTerry, NoisyBradleyTerry
from quorate.errors import DataError, UsageError


def comparisons(n: int = 600, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    strength = np.linspace(-1, 1, 5)
    left = random.integers(5, size=n)
    right = (left + random.integers(1, 5, size=n)) % 5
    chance = 1 / (1 + np.exp(strength[right] - strength[left]))
    won = np.where(random.random(n) < chance, left, right)
    names = np.array(list("abcde"))
    worker = random.integers(4, size=n)
    columns = {"worker": worker, "left": names[left], "right": names[right], "label": names[won]}
    return pd.DataFrame(columns)


def test_bradley_terry_is_crowd_kits_if_theirs_is_let_run() -> None:
    theirs = pytest.importorskip("crowdkit.aggregation").BradleyTerry(n_iter=5000, tol=0)
    data = comparisons()
    ours, known = BradleyTerry(n_iter=10).fit_predict(data), theirs.fit_predict(data)
    assert ours.sum() == pytest.approx(1)
    np.testing.assert_allclose(ours[known.index], known, atol=1e-6)


def test_noisy_bradley_terry_ranks_and_knows_who_always_says_left() -> None:
    data = comparisons()
    always = data.assign(worker=9, label=data["left"])
    found = NoisyBradleyTerry().fit(pd.concat([data, always]))
    assert found.scores_.sort_values().index.to_list() == list("abcde")
    assert found.biases_[9] > 0.95
    assert found.biases_[0] == pytest.approx(0.5, abs=0.15)
    assert found.scores_.index.name == "label"


def test_bad_calls_are_one_sentence() -> None:
    with pytest.raises(DataError, match="none called worker"):
        NoisyBradleyTerry().fit(comparisons().drop(columns="worker"))
    with pytest.raises(UsageError, match="regularization_ratio"):
        NoisyBradleyTerry(regularization_ratio=1.0).fit(comparisons())
    with pytest.raises(UsageError, match="pandas DataFrame"):
        BradleyTerry().fit([("a", "b", "a")])
    assert BradleyTerry().fit_predict(comparisons()[:0]).empty
