"""The field: what must hold of auto and of expected errors on the public sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reproductions.conftest import Once

from reproductions import field
from reproductions.experiment import Plan
from reproductions.field import auto
from reproductions.fitting import fitted, takes
from reproductions.scoring import known, percent_wrong


def test_the_expected_error_of_any_method_on_public_sets(data: Path) -> None:
    for method in ("majority", "dawid-skene", "mace", "iwmv", "ibcc", "glad"):
        held = 0
        for name in field.DATA_SETS:
            votes = known(name, data)
            result = fitted(method, votes.labels)
            error = percent_wrong(result.posterior, votes.truth) / 100
            held += result.expected_error.low <= error <= result.expected_error.high
        assert held >= 11, method


@pytest.fixture(scope="module")
def on_public_sets(data: Path, once: Once) -> tuple[Any, Any]:
    found, errors = once("public-sets", lambda: public_sets(data))
    return found, errors


def public_sets(data: Path) -> tuple[Any, Any]:
    plan = Plan(data, frozenset(field.DATA_SETS))
    found = {f"auto/{name}": auto.auto_on(plan, name) for name in field.DATA_SETS}
    singles = ["majority", "dawid-skene", "hybrid", "mace", "iwmv"]  # the best on average, the fast
    rows = [{"data": name, **errors_on(name, singles, data)} for name in field.DATA_SETS]
    for row in rows:
        row["auto"] = 100 * found[f"auto/{row['data']}"]["error"]
    means = {
        c: None if any(r[c] is None for r in rows) else float(np.mean([r[c] for r in rows]))
        for c in (*singles, "auto")
    }
    return found, [*rows, {"data": "mean", **means}]


def errors_on(name: str, methods: list[str], data: Path) -> dict[str, Any]:
    votes = known(name, data)
    return {
        method: percent_wrong(fitted(method, votes.labels).posterior, votes.truth)
        if takes(method, votes.labels)
        else None
        for method in methods
    }


def test_what_must_hold_on_public_sets(on_public_sets: tuple[Any, Any]) -> None:
    claims = auto.report(*on_public_sets).claims
    assert len(claims) == 7
    assert all(claim.holds for claim in claims[:5]), claims


def test_what_other_sets_choose_holds_on_the_one_left_out(on_public_sets: tuple[Any, Any]) -> None:
    table = {table.name: table for table in auto.report(*on_public_sets).tables}["left-out"]
    assert len(table.rows) == 14
    for row in table.rows:
        assert row["models with the vote"] == "majority + dawid-skene + mace"
    chosen = np.mean([row["error with it"] for row in table.rows])
    assert chosen < min(v for c, v in on_public_sets[1][-1].items() if c not in ("data", "auto"))
    assert np.mean([row["calibration error"] for row in table.rows]) < 0.6 * 0.121
    assert sum(row["inside"] for row in table.rows) >= 9


def test_there_is_no_report_without_data() -> None:
    assert auto.report({}, [{"data": "mean"}]).claims == ()
