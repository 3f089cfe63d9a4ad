"""Figures that others published about real votes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import quorate
from quorate import Result, metrics
from quorate.models import make

# Sinha, Rao and Balasubramanian (2018), section 4: when the class marginals move by less than 1e-4.
AS_IN_THE_PAPER: dict[str, Any] = {"stop": "marginals", "tol": 1e-4}


def votes_of(data: Path, name: str, at_least: int = 1) -> pl.DataFrame:
    """The votes on tasks that at least so many different workers labelled."""
    votes = pl.read_csv(data / name / "labels.csv", infer_schema=False)
    return votes.filter(pl.col("worker").n_unique().over("task") >= at_least)


@pytest.mark.parametrize(
    ("name", "method", "published"),
    [
        ("rte", "dawid-skene", 3679.63),
        ("rte", "hybrid", 3680.32),
        ("bm", "dawid-skene", 2094.76),
        ("bm", "hybrid", 2100.32),
        ("bm", "fast-dawid-skene", 2110.16),
    ],
)
def test_negative_log_likelihood(data: Path, name: str, method: str, published: float) -> None:
    """Table 2. The paper broke ties of the first vote at random, which tells where Fast
    Dawid-Skene starts from; bm, with five labels of two classes for each task, has none."""
    result = quorate.aggregate(votes_of(data, name), make(method, **AS_IN_THE_PAPER))
    assert result.converged
    assert result.log_likelihood == pytest.approx(-published, abs=0.01)


@pytest.mark.parametrize(("method", "published"), [("dawid-skene", 1655.94), ("hybrid", 1660.06)])
def test_negative_log_likelihood_of_labelme(data: Path, method: str, published: float) -> None:
    """Table 2, on the 589 tasks of Table 1."""
    votes = votes_of(data, "labelme", at_least=3)
    assert votes["task"].n_unique() == 589
    result = quorate.aggregate(votes, make(method, **AS_IN_THE_PAPER))
    assert result.log_likelihood == pytest.approx(-published, abs=0.01)


@pytest.mark.parametrize("name", ["adult2", "web", "labelme", "sp"])
def test_fast_dawid_skene_needs_fewer_iterations(data: Path, name: str) -> None:
    votes = votes_of(data, name)
    soft, fast = (
        quorate.aggregate(votes, make(method, **AS_IN_THE_PAPER))
        for method in ("dawid-skene", "fast-dawid-skene")
    )
    assert soft.converged and fast.converged
    assert fast.iterations < soft.iterations


@pytest.mark.parametrize(
    ("name", "percent"), [("bird", 24.07), ("rte", 10.31), ("trec", 34.86), ("web", 26.93)]
)
def test_error_of_the_majority(data: Path, name: str, percent: float) -> None:
    """Zhang, Chen, Zhou and Jordan, "Spectral Methods meet EM" (2014), with ties shared."""
    result = quorate.aggregate(votes_of(data, name), method="majority")
    truth = gold_codes(data, name, result)
    assert 100 * metrics.error(result.posterior, truth) == pytest.approx(percent, abs=0.01)


def gold_codes(data: Path, name: str, result: Result) -> np.ndarray[Any, Any]:
    """The known answer of each task, or -1."""
    gold = pl.read_csv(data / name / "gold.csv", infer_schema=False)
    code = {label: i for i, label in enumerate(result.classes)}
    answer = {task: code[label] for task, label in gold.iter_rows()}
    return np.array([answer.get(task, -1) for task in result.codebook.tasks])
