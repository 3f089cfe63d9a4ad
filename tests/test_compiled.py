"""Compiled loops give the bits of SciPy's and NumPy's, and nothing needs them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import times

from quorate import Auto, DawidSkene, Disk, Labels, Threads, compiled, fit, kernels

WIDTHS = (1, 2, 3, 5)  # few, because each is compiled


@pytest.fixture
def numba() -> None:
    pytest.importorskip("numba")


@pytest.fixture
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was compiled yet, and no work was done."""
    monkeypatch.setattr(compiled, "_built", {})
    monkeypatch.setattr(compiled, "_done", 0)
    monkeypatch.delenv(compiled.VARIABLE, raising=False)


def everything(case: dict[str, Any]) -> list[bytes]:
    """The bits of all that can be compiled: gathering, normalising, scattering, and sums and shares
    of that."""
    incidence = kernels.incidence(case["indptr"], case["row"], case["height"], case["weight"])
    gathered = incidence.gather(case["table"], case["plus"])
    bits = [gathered.tobytes(), incidence.gather(case["table"]).tobytes()]
    table = case["table"]
    made = incidence.gather_made(lambda rows: table if rows is None else table[rows])
    assert made.tobytes() == bits[1]
    posterior, log_sum = kernels.normalise(gathered)
    counts = incidence.scatter(posterior).dense()
    classes, width = kernels.column_sums(posterior), counts.shape[1]
    shares = kernels.log_shares(counts[: len(counts) // width * width], case["smoothing"])
    found = (posterior, log_sum, counts, classes, shares)
    return [*bits, *(each.tobytes() for each in found)]


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    """Tasks with and without labels, that touch the rows of a low or a tall table, some twice."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_tasks = draw(st.sampled_from((0, 1, 7, 8, 64, 65, 129, 1000, 3000)))
    most = draw(st.sampled_from((0, 1, 5, 40)))
    height = draw(st.sampled_from((1, 9, 2000, kernels.SHORT + 1)))
    width = draw(st.sampled_from(WIDTHS))
    indptr = np.concatenate([[0], random.integers(0, most + 1, n_tasks).cumsum()]).astype(np.int32)
    rows = max(1, height // draw(st.sampled_from((1, 100))))
    row = random.integers(rows, size=indptr[-1]).astype(np.int32)
    table = kernels.log_or(random.random((height, width)) * (random.random((height, width)) > 0.1))
    weight = random.random(len(row)) if draw(st.booleans()) else None
    plus = np.log(random.random(width))
    for read_only in (indptr, row, table, plus):  # as blocks in files are
        read_only.flags.writeable = False
    labels = {"indptr": indptr, "row": row, "height": height, "weight": weight}
    smoothing = draw(st.sampled_from((0.0, 0.01)))
    return {**labels, "table": table, "plus": plus, "smoothing": smoothing}


@pytest.mark.parametrize("large_table", [0, compiled.LARGE_TABLE], ids=["far", "near"])
@settings(
    deadline=None,
    max_examples=times(20, 60),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(case=cases())
def test_same_bits(
    numba: None, monkeypatch: pytest.MonkeyPatch, large_table: int, case: dict[str, Any]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(compiled, "LARGE_TABLE", large_table)
        patch.setenv(compiled.VARIABLE, "0")
        plain = everything(case)
        patch.setenv(compiled.VARIABLE, "1")
        assert everything(case) == plain
    assert len(case["indptr"]) == 1 or ("compile_near", len(case["plus"])) in compiled._built


def test_tall_incidence_may_change_its_order(monkeypatch: pytest.MonkeyPatch, numba: None) -> None:
    random = np.random.default_rng(0)
    indptr = np.arange(0, 5001, 5, dtype=np.int32)
    height = kernels.SHORT + 1
    row = random.integers(height, size=5000).astype(np.int32)
    table = random.random((height, 2))
    incidence = kernels.incidence(indptr, row, height)
    found = set()
    for said in "010110":
        monkeypatch.setenv(compiled.VARIABLE, said)
        found.add(
            incidence.gather(table).tobytes() + incidence.scatter(table[:1000]).dense().tobytes()
        )
    assert len(found) == 1


def simulated(n_workers: int = 30, n_classes: int = 3) -> Labels:
    random = np.random.default_rng(3)
    task = np.repeat(np.arange(2000), 5)
    truth = random.integers(n_classes, size=2000)
    guess = random.integers(n_classes, size=len(task))
    label = np.where(random.random(len(task)) < 0.7, truth[task], guess)
    worker = random.integers(n_workers, size=len(task))
    return Labels.from_codes(task, worker, label, n_workers=n_workers, n_classes=n_classes)


def bits_of(model: Any, labels: Labels, engine: Any) -> tuple[bytes, tuple[float, ...]]:
    result = fit(model, labels, engine=engine)
    return result.posterior.tobytes(), tuple(result.objective)


MODELS = (DawidSkene(smoothing=0.01, max_iter=8), Auto(max_iter=4))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
@pytest.mark.parametrize("n_workers", [30, 30_000])
def test_fits_have_the_same_bits(
    numba: None, monkeypatch: pytest.MonkeyPatch, model: Any, n_workers: int
) -> None:
    labels = simulated(n_workers)
    found = set()
    for said in "01":
        monkeypatch.setenv(compiled.VARIABLE, said)
        found |= {bits_of(model, labels, engine) for engine in (Threads(1), Threads(2), Disk(2))}
    assert len(found) == 1


def test_a_cluster_has_the_bits_of_compiled_loops(
    numba: None, monkeypatch: pytest.MonkeyPatch, cluster: Any
) -> None:
    labels = simulated()
    monkeypatch.setenv(compiled.VARIABLE, "1")
    assert bits_of(MODELS[0], labels, cluster) == bits_of(MODELS[0], labels, Threads(2))


def test_nothing_is_compiled_for_little(forget: None, numba: None) -> None:
    assert compiled.near(3, compiled.PAYS_AFTER - 1) is None
    assert compiled.near(3, compiled.LEAST - 1) is None
    assert compiled.near(compiled.WIDEST + 1, compiled.PAYS_AFTER) is None
    assert compiled.near(3, compiled.LEAST) is not None


def test_many_small_fits_compile_nothing(forget: None, monkeypatch: pytest.MonkeyPatch) -> None:
    labels, one = simulated(), DawidSkene(max_iter=3, tol=0)
    monkeypatch.setattr(compiled, "LEAST", 1)
    fit(one, labels, engine=Threads(1))
    monkeypatch.setattr(compiled, "PAYS_AFTER", compiled._done + 1)
    for _ in range(3):
        fit(one, labels, engine=Threads(1))
    assert not compiled._built
    fit(DawidSkene(max_iter=9, tol=0), labels, engine=Threads(1))
    assert compiled._built


def test_it_can_be_switched_off(forget: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(compiled.VARIABLE, "0")
    assert compiled.near(3, compiled.PAYS_AFTER) is None
    assert not compiled._built


def test_without_numba_all_goes_as_before(forget: None, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = simulated()
    monkeypatch.setenv(compiled.VARIABLE, "0")
    plain = bits_of(MODELS[0], labels, Threads(1))
    monkeypatch.setenv(compiled.VARIABLE, "1")
    monkeypatch.setitem(sys.modules, "quorate.loops", None)
    monkeypatch.delattr("quorate.loops", raising=False)
    assert bits_of(MODELS[0], labels, Threads(1)) == plain
    assert set(compiled._built.values()) == {None}


def test_without_a_place_for_a_cache_it_is_compiled_anyway(
    forget: None, numba: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from quorate import loops

    asked: list[bool] = []

    def compile_near(width: int, cache: bool) -> int:
        asked.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return width

    monkeypatch.setattr(loops, "compile_near", compile_near)
    monkeypatch.setenv(compiled.VARIABLE, "1")
    assert compiled.near(3, 1) == 3
    assert asked == [True, False]
