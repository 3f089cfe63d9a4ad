"""What tables `quorate.crowdkit` takes, and what it says of others."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal
from tests.crowdkit.crowds import ROLES, TRUTH, quiz

import quorate.crowdkit as crowdkit
from quorate import UsageError
from quorate.crowdkit import KOS, DawidSkene, MajorityVote

# Several right answers, known answers, pairs: they have tests of their own.
NEED_MORE = ("BinaryRelevance", "GoldMajorityVote", "BradleyTerry", "NoisyBradleyTerry")
AGGREGATORS = [
    getattr(crowdkit, name)
    for name in crowdkit.__all__
    if name[0].isupper() and name not in NEED_MORE
]
NAMES = st.sampled_from([0, 1, "1", "a", "NaN", "", 2.5])
VOTES = st.lists(st.tuples(NAMES, NAMES, NAMES), min_size=1, max_size=8)


@settings(max_examples=15)
@given(VOTES)
@pytest.mark.parametrize("kind", AGGREGATORS)
def test_any_votes_give_a_label_for_every_task(kind: Any, rows: list[tuple[Any, ...]]) -> None:
    data = pd.DataFrame(rows, columns=ROLES, dtype=object)
    if kind is KOS and data["label"].nunique() != 2:
        return
    fitted = kind()
    labels = fitted.fit_predict(data)
    assert set(labels.index) == set(data["task"]) and labels.isin(data["label"]).all()
    for name, value in vars(fitted).items():
        if name in ("probas_", "scores_", "skills_", "errors_", "alphas_", "betas_", "priors_"):
            assert np.isfinite(value.to_numpy(dtype=float)).all(), name


@pytest.mark.parametrize("kind", AGGREGATORS)
def test_one_vote_is_the_answer(kind: Any) -> None:
    data = pd.DataFrame([("t", "x", "a")], columns=ROLES)
    if kind is KOS:
        data = pd.DataFrame([("t", "x", "a"), ("u", "x", "b")], columns=ROLES)
    assert kind().fit_predict(data)["t"] == "a"


def test_rows_that_lack_a_field_are_counted_and_left_out() -> None:
    gap = pd.DataFrame(
        [("p1", "eve", None), (None, "eve", "no"), ("p9", None, "no")], columns=ROLES
    )
    with pytest.warns(UserWarning, match="3 of 26 rows lack a task, a worker or a label"):
        found = DawidSkene().fit(pd.concat([quiz(), gap]))
    assert_frame_equal(found.probas_, DawidSkene().fit(quiz()).probas_)


def test_words_for_missing_are_labels_here() -> None:
    words = quiz().replace({"label": {"yes": "nan", "no": ""}})
    assert MajorityVote().fit_predict(words)["p1"] == "nan"


@pytest.mark.parametrize("data", [quiz().to_numpy(), pl.DataFrame([TRUTH.index]), "votes.csv"])
def test_what_is_no_pandas_frame_is_refused(data: Any) -> None:
    with pytest.raises(UsageError, match=r"takes a pandas DataFrame, not \w+: quorate.aggregate"):
        DawidSkene().fit(data)


def test_names_keep_their_type() -> None:
    votes = quiz().assign(
        task=quiz()["task"].str[1:].astype("int16"), label=quiz()["label"].astype("category")
    )
    found = DawidSkene().fit_predict(votes)
    assert found.index.dtype == "int16" and found.dtype == votes["label"].dtype


def test_options_can_be_given_by_position_and_are_shown() -> None:
    assert repr(DawidSkene(7, 0.5)) == (
        "DawidSkene(n_iter=7, tol=0.5, initial_error_strategy=None)"
    )


def test_pandas_is_imported_when_it_is_needed_and_missed_in_one_sentence() -> None:
    script = (
        "import sys; sys.modules['pandas'] = None; import quorate\n"
        "try: import quorate.crowdkit\n"
        "except quorate.UsageError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.stdout == "quorate.crowdkit needs pandas: pip install 'quorate[pandas]'.\n"
