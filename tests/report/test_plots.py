"""Figures of results: what is drawn is what the tables hold."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

import numpy as np
import pytest

import quorate
from quorate.errors import DataError

pytestmark = pytest.mark.skipif(find_spec("matplotlib") is None, reason="no matplotlib here")

CROWD = quorate.simulate(9, 80, 4, n_classes=3, seed=4)


@cache
def result() -> quorate.Result:
    return quorate.aggregate(CROWD.votes)


def test_workers_are_dots_at_their_accuracy() -> None:
    axes = result().plot.workers().axes[0]
    drawn = axes.lines[0].get_xydata()
    frame = result().workers
    np.testing.assert_allclose(drawn[:, 0], frame["labels"].to_numpy())
    np.testing.assert_allclose(drawn[:, 1], frame["accuracy"].to_numpy())


def test_rows_of_a_confusion_matrix_are_shares() -> None:
    worker = result().codebook.workers[2]
    for figure in (result().plot.confusion(), result().plot.confusion(worker)):
        shares = figure.axes[0].images[0].get_array()
        np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_an_unknown_worker_is_named() -> None:
    with pytest.raises(DataError, match="no worker 'nobody'"):
        result().plot.confusion("nobody")


def test_calibration_has_a_dot_for_each_part_of_the_confidences() -> None:
    dots = result().plot.calibration(CROWD.gold).axes[0].collections[0].get_offsets()
    rows = quorate.compare(CROWD.votes, ["auto"], gold=CROWD.gold).reliability["auto"]
    np.testing.assert_allclose(dots[:, 1], [row["right"] for row in rows])


def test_agreement_is_symmetric_with_each_worker_once() -> None:
    axes = result().plot.agreement().axes[0]
    shares = np.ma.filled(axes.images[0].get_array(), np.nan)
    np.testing.assert_allclose(shares, shares.T)
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert sorted(names) == sorted(map(str, result().codebook.workers))


def test_a_budget_buys_less_error() -> None:
    error = result().plot.budget(20).axes[0].lines[0].get_ydata()
    assert error[0] == pytest.approx(result().expected_error.error) and error[-1] < error[0]
