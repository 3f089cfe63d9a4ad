"""The field: what must hold of auto and of expected errors on the public sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reproductions.conftest import Once

from quorate.models.members import NAMES
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
    found |= {
        f"second/{folder.name}": auto.auto_on_second(plan, folder.name, "")
        for folder in auto.second_sets(plan)
    }
    # The best on average, the fast.
    singles = ["majority", "dawid-skene", "hybrid", "mace", "iwmv", "hierarchical"]
    rows = [{"data": name, **errors_on(name, singles, data)} for name in field.DATA_SETS]
    for row in rows:
        row["auto"] = found[f"auto/{row['data']}"]["errors"][0]
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
    promised = [claim for claim in claims if "whatever the seed" not in claim.text]
    assert len(promised) == 5
    assert all(claim.holds for claim in promised), claims


def test_with_any_seed_auto_keeps_up_with_the_vote_on_the_sets_of_the_catalogue(
    on_public_sets: tuple[Any, Any],
) -> None:
    found, errors = on_public_sets
    of_catalogue = {key: cell for key, cell in found.items() if key.startswith("auto/")}
    claims = auto.report(of_catalogue, errors).claims
    (claim,) = (claim for claim in claims if "whatever the seed" in claim.text)
    assert claim.holds, claim


def test_what_is_shown_of_auto(on_public_sets: tuple[Any, Any]) -> None:
    found, errors = on_public_sets
    tables = {table.name: table for table in auto.report(found, errors).tables}
    assert set(tables) == {"seeds", "weights", "calibration", "expected"}
    n_sets = len(found)
    assert len(tables["weights"].rows) == len(tables["expected"].rows) == n_sets
    means = [row for row in tables["seeds"].rows if row["data"].startswith("mean")]
    assert len(tables["seeds"].rows) == n_sets + len(means)
    assert len(means) == (1 if n_sets == len(field.DATA_SETS) else 2)
    by_seed = [100 - means[0][f"auto, seed {seed}"] for seed in auto.SEEDS]
    assert min(by_seed) > 84.9
    for row in tables["weights"].rows:
        assert sum(row[name] for name in NAMES) == pytest.approx(1)
        assert 0 <= row["dependence"] <= 1


@pytest.fixture
def further(tmp_path: Path) -> Plan:
    """A set that the catalogue does not have, beside no other data."""
    folder = tmp_path / auto.SECOND / "made-up"
    folder.mkdir(parents=True)
    votes = [(f"t{t}", f"w{w}", "xy"[(t + (w == t % 4)) % 2]) for t in range(30) for w in range(4)]
    lines = ["task,worker,label", *(",".join(vote) for vote in votes)]
    (folder / "labels.csv").write_text("\n".join(lines) + "\n")
    known = ["task,label", *(f"t{t},{'xy'[t % 2]}" for t in range(20)), "t29,z"]
    (folder / "gold.csv").write_text("\n".join(known) + "\n")
    return Plan(tmp_path / "data", frozenset())


def test_further_sets_are_read_beside_the_data(further: Plan) -> None:
    cells = auto.cells(further, [])
    assert [cell.key for cell in cells] == ["second/made-up", "errors/made-up"]
    found = {cell.key: cell.function(further, **cell.arguments) for cell in cells}
    assert found["errors/made-up"]["majority"] == pytest.approx(100 / 21)  # nobody says z
    assert found["errors/made-up"]["auto"] == found["second/made-up"]["errors"][0]
    row = {"data": "first", "auto": 5.0, "majority": 6.0}
    report = auto.report({**found, "auto/first": found["second/made-up"]}, [row, row])
    (table,) = (table for table in report.tables if table.name == "error-second")
    assert [row["data"] for row in table.rows] == ["made-up", "mean"]
    assert len(report.claims) == 8


def test_votes_that_changed_are_another_piece_of_work(further: Plan) -> None:
    before = auto.cells(further, [])[0].arguments
    path = further.directory.parent / auto.SECOND / "made-up" / "labels.csv"
    path.write_text(path.read_text() + "t0,w9,x\n")
    assert auto.cells(further, [])[0].arguments != before


def test_there_is_no_report_without_data() -> None:
    assert auto.report({}, [{"data": "mean"}]).claims == ()
