"""Rankings: the maximum of the likelihood, judges who add nothing, graphs that fall apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import choix
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import quorate
from quorate.engines.disk import Disk
from quorate.engines.engine import stateless
from quorate.engines.threads import Threads
from quorate.errors import DataError, UsageError
from quorate.ranking.bradley_terry import Params, Prior, Sweep, maximise
from quorate.ranking.comparisons import read_comparisons
from quorate.ranking.ranking import Plan, fitted

Floats = NDArray[np.float64]


class Crowd(NamedTuple):
    """Comparisons by judges of known traits."""

    table: pl.DataFrame
    strength: Floats
    judges: Floats  # reliability, side, ties


def crowd(n: int, systems: int, judges: Floats, seed: int) -> Crowd:
    random = np.random.default_rng(seed)
    strength = random.normal(size=systems)
    strength -= strength.mean()
    left = random.integers(systems, size=n)
    right = (left + random.integers(1, systems, size=n)) % systems
    who = random.integers(len(judges), size=n)
    reliability, side, tie = judges[who].T
    u = reliability * (strength[left] - strength[right]) + side
    odds = np.exp(np.stack([u / 2, tie, -u / 2], axis=1))
    said = (
        random.random(n)[:, None] > (odds / odds.sum(axis=1, keepdims=True)).cumsum(axis=1)
    ).sum(axis=1)
    names = np.array([f"s{i:03}" for i in range(systems)])
    winner = np.choose(said, [names[left], "tie", names[right]])
    columns = {"left": names[left], "right": names[right], "worker": who, "winner": winner}
    return Crowd(pl.DataFrame(columns), strength, judges)


def judges_like(*traits: tuple[float, float, float]) -> Floats:
    return np.array(traits)


def test_it_is_the_maximum_likelihood_of_choix_without_ties_and_sides() -> None:
    table, *_ = crowd(3000, 25, judges_like((1, 0, -np.inf)), seed=1)
    pairs = [
        (int(won[1:]), int((left if won == right else right)[1:]))
        for left, right, _, won in table.rows()
    ]
    found = quorate.rank(table, by_worker=False, position=False)
    known = choix.opt_pairwise(25, pairs, alpha=0, method="Newton-CG", tol=1e-12)
    np.testing.assert_allclose(found.strength, known - known.mean(), atol=1e-6)
    assert found.converged


def test_the_gradient_is_that_of_the_likelihood() -> None:
    """Of everything at once: differences of the log-likelihood, parameter by parameter."""
    read = read_comparisons(crowd(200, 4, judges_like((1, 0.3, -1), (0.5, -0.2, 0)), seed=2).table)
    (block,) = list(read.blocks)
    random = np.random.default_rng(0)
    params = Params(random.normal(size=4), random.normal(size=(2, 3)))
    sweep = Sweep(with_ties=True)
    _, stats = sweep(block, params, None)
    step = 1e-6
    for part, gradient in ((0, stats.strength_gradient), (1, stats.judge_gradient)):
        for place in np.ndindex(gradient.shape):
            moved = [params[0].copy(), params[1].copy()]
            moved[part][place] += step
            _, after = sweep(block, Params(*moved), None)
            slope = (after.log_likelihood - stats.log_likelihood) / step
            assert slope == pytest.approx(gradient[place], abs=1e-3)


def test_statistics_add_over_blocks_of_pairs_and_threads_change_nothing() -> None:
    read = read_comparisons(crowd(500, 8, judges_like((1, 0, -1), (2, 1, 0)), seed=3).table)
    labels = read.blocks.labels  # type: ignore[attr-defined]
    params = Params(np.linspace(-1, 1, 8), np.array([[1.0, 0.2, -1.0], [0.7, 0.0, 0.0]]))
    _, whole = Sweep(True)(labels, params, None)
    parts = [Sweep(True)(block, params, None)[1] for block in labels.blocks(50)]
    assert len(parts) > 3
    for name, total in whole._asdict().items():
        added = sum(getattr(part, name) for part in parts)
        np.testing.assert_allclose(added, total, rtol=1e-9, atol=1e-9)
    one, two = (quorate.rank(read, threads=n).strength for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_on_disk_it_is_the_same() -> None:
    read = read_comparisons(crowd(500, 8, judges_like((1, 0, -1), (2, 1, 0)), seed=3).table)
    here, there = (fitted(read, engine, Plan()) for engine in (Threads(1), Disk(1)))
    np.testing.assert_array_equal(here.solution.params.strength, there.solution.params.strength)


def test_it_recovers_strengths_sides_ties_and_reliabilities() -> None:
    traits = judges_like((1.5, 0.8, -0.5), (1.0, -0.6, -1.0), (0.5, 0.0, -2.0))
    table, strength, _ = crowd(20_000, 10, traits, seed=4)
    found = quorate.rank(table)
    assert np.corrcoef(found.strength, strength)[0, 1] > 0.995
    judges = found.workers_frame.sort("worker")
    scale = float(judges["weight"] @ traits[:, 0])
    np.testing.assert_allclose(judges["reliability"], traits[:, 0] / scale, atol=0.1)
    np.testing.assert_allclose(judges["left"], 1 / (1 + np.exp(-traits[:, 1])), atol=0.03)
    np.testing.assert_allclose(found.strength, scale * strength, atol=0.2)


def test_intervals_hold_and_those_of_ranks_hold_at_once() -> None:
    covered, all_ranks = [], []
    for seed in range(40):
        table, strength, _ = crowd(600, 8, judges_like((1, 0.4, -1), (1, -0.3, -1)), seed)
        frame = quorate.rank(table, seed=seed).systems_frame.sort("system")
        rank = 1 + (strength > strength[:, None]).sum(axis=1)
        covered.append(_within(frame, "low", "high", strength).mean())
        all_ranks.append(_within(frame, "rank_low", "rank_high", rank).all())
    assert 0.91 <= np.mean(covered) <= 0.99
    assert np.mean(all_ranks) >= 0.9


def _within(frame: pl.DataFrame, low: str, high: str, truth: Any) -> NDArray[np.bool_]:
    return (frame[low].to_numpy() <= truth) & (truth <= frame[high].to_numpy())


@pytest.mark.parametrize("always", ["left", "right", "tie"])
def test_a_judge_who_always_says_the_same_gains_no_weight(always: str) -> None:
    """However many such comparisons there are, the ranking stays what it is without them."""
    table, *_ = crowd(1500, 6, judges_like((1, 0, -1), (1, 0.2, -1)), seed=5)
    more = pl.concat([table] * 4).with_columns(worker=pl.lit(9, pl.Int64), winner=pl.lit(always))
    without, found = quorate.rank(table), quorate.rank(pl.concat([table, more]))
    spammer = found.workers_frame.filter(worker=9)
    assert spammer["comparisons"].item() == 6000
    assert spammer["weight"].item() < 0.02
    np.testing.assert_allclose(found.strength, without.strength, atol=0.08)


def test_a_judge_who_decides_at_random_counts_for_little() -> None:
    table, *_ = crowd(4000, 6, judges_like((1.5, 0, -1), (1.5, 0, -1), (0, 0, -1)), seed=6)
    judges = quorate.rank(table).workers_frame.sort("worker")
    assert judges["reliability"][2] < 0.25
    assert judges["weight"][2] < 0.05
    assert judges["agreement"][2] < 0.6 < judges["agreement"][0]


def test_a_judge_who_turns_everything_round_helps() -> None:
    table, strength, _ = crowd(3000, 6, judges_like((1, 0, -1), (1, 0, -1), (-1, 0, -1)), seed=7)
    found = quorate.rank(table)
    assert found.workers_frame.sort("worker")["reliability"][2] < 0
    assert np.corrcoef(found.strength, strength)[0, 1] > 0.98


def test_systems_that_nobody_compared_are_groups_of_their_own() -> None:
    rows = [
        ("a", "b", "w", "a"),
        ("b", "a", "w", "b"),
        ("c", "d", "w", "tie"),
        ("d", "c", "w", "c"),
    ]
    found = quorate.rank(rows)
    assert found.components == 2
    assert "2 groups" in found.notes[0]
    assert set(found.systems_frame.filter(group=1)["rank"]) == {1}
    assert found.systems_frame["rank_high"].max() == 2


def test_who_always_wins_is_held_by_a_prior_that_is_told() -> None:
    rows = [("top", x, "w", "top") for x in ("b", "c")] * 5
    rows += [("b", "c", "w", "b"), ("c", "b", "w", "c"), ("c", "top", "w", "top")] * 3
    found = quorate.rank(rows)
    assert any("top won or lost all comparisons" in note for note in found.notes)
    assert np.isfinite(found.strength).all()
    narrower = quorate.rank(rows, prior_sd=0.5)
    assert not any("won or lost" in note for note in narrower.notes)
    assert 0 < np.ptp(narrower.strength) < np.ptp(found.strength)


def test_who_always_wins_by_the_judges_who_count_is_held_too() -> None:
    """Bob always says right: only ann's word counts, by which llama always loses."""
    rows = [("gpt", "llama", "ann", "gpt"), ("llama", "gpt", "bob", "gpt")]
    rows += [("claude", "gpt", "ann", "tie"), ("gpt", "claude", "bob", "claude")]
    rows += [("llama", "claude", "ann", "claude"), ("claude", "llama", "bob", "llama")]
    rows += [("gpt", "llama", "bob", "llama"), ("claude", "gpt", "bob", "gpt")]
    found = quorate.rank(rows * 5)
    assert np.ptp(found.strength) < 20
    assert any("By the judges who count" in note for note in found.notes)
    assert found.systems_frame["system"][-1] == "llama"


def test_sides_that_cannot_be_told_from_strength_are_left_alone() -> None:
    rows = [("base", "new", "w", "new")] * 30 + [("base", "new", "w", "base")] * 10
    found = quorate.rank(rows)
    assert found.position_bias is None
    assert "cannot be told from strength" in found.notes[0]
    assert found.probability("new", "base") == pytest.approx(0.75)
    as_pairs = pl.DataFrame({"winner": ["a", "b", "a"], "loser": ["b", "c", "c"]})
    assert quorate.rank(as_pairs).systems["system"].to_list() == ["a", "b", "c"]


def test_columns_are_known_by_other_names_and_winners_by_side() -> None:
    table = pl.DataFrame(
        {
            "model_a": ["x", "y", "z", "x"],
            "model_b": ["y", "z", "x", "z"],
            "judge": ["g", "g", "h", "h"],
            "winner": ["model_a", "model_b", "tie (bothbad)", "error"],
            "turn": [1, 1, 1, 2],
        }
    )
    read = read_comparisons(table)
    assert read.n_comparisons == 3
    assert read.dropped.no_verdict == 1
    assert read.workers is not None and read.workers.to_list() == ["g", "h"]
    by_name = table.with_columns(winner=pl.Series(["x", "z", "tie", None]))
    assert read_comparisons(by_name).dropped.missing == 1
    first, second = quorate.rank(table), quorate.rank(by_name)
    np.testing.assert_array_equal(first.strength, second.strength)


def test_tables_come_back_in_the_callers_kind() -> None:
    pandas = pytest.importorskip("pandas")
    table = crowd(50, 3, judges_like((1, 0, -1)), seed=8).table.to_pandas()
    found = quorate.rank(table)
    assert isinstance(found.systems, pandas.DataFrame)
    assert list(found.systems.columns[:3]) == ["rank", "system", "strength"]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([("a", "b", "w", "z")], "neither of their systems: 'z'"),
        ([("a", "a", "w", "a")], "There are no comparisons"),
        ([("a", "b", "w", None)], "There are no comparisons"),
    ],
)
def test_bad_comparisons_are_one_sentence(rows: list[Any], says: str) -> None:
    with pytest.raises(DataError, match=says):
        quorate.rank(rows)


def test_bad_options_are_one_sentence(tmp_path: Path) -> None:
    rows = [("a", "b", "w", "a")]
    with pytest.raises(UsageError, match="did you mean 'prior_sd'"):
        quorate.rank(rows, priorsd=2)  # type: ignore[call-arg]
    for wrong in ({"level": 1.0}, {"prior_sd": 0.0}, {"seed": -1}):
        with pytest.raises(UsageError):
            quorate.rank(rows, **wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="There is no system 'q'"):
        quorate.rank(rows).probability("q", "a")
    path = tmp_path / "c.csv"
    path.write_text("x,right,winner\na,b,a\n")
    with pytest.raises(DataError, match="--left-column"):
        quorate.rank(path)


SYSTEMS = st.sampled_from(["a", "b", "c", "d"])
ROWS = st.lists(
    st.tuples(SYSTEMS, SYSTEMS, st.sampled_from("xyz"), st.sampled_from(["left", "right", "tie"])),
    min_size=1,
    max_size=12,
)


@given(ROWS)
def test_any_comparisons_give_finite_ranks_or_a_sentence(rows: list[Any]) -> None:
    try:
        found = quorate.rank(rows, threads=1)
    except DataError:
        assert all(left == right for left, right, *_ in rows)
        return
    numbers = found.systems_frame.select(pl.col(pl.Float64))
    assert np.isfinite(numbers.to_numpy()).all()
    frame = found.systems_frame
    assert (frame["rank_low"] <= frame["rank"]).all() and (
        frame["rank"] <= frame["rank_high"]
    ).all()
    assert np.isfinite(found.workers_frame.select(pl.col(pl.Float64)).fill_null(0).to_numpy()).all()
    assert "Ranking of" in repr(found) and "quorate-card" in found._repr_html_()


def test_the_order_of_rows_changes_nothing() -> None:
    table = crowd(300, 6, judges_like((1, 0, -1), (2, 0.5, -1)), seed=9).table
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=1)
    one, two = quorate.rank(table), quorate.rank(shuffled)
    np.testing.assert_allclose(one.strength, two.strength, atol=1e-7)


def test_contradicting_judges_converge() -> None:
    read = read_comparisons(crowd(400, 6, judges_like((2, 0, -1), (-1, 2, 1)), seed=10).table)
    fold = stateless(Threads(1), read.blocks)
    prior = Prior(
        np.array([1.0, 0, 0]), np.ones(3), np.ones(3, dtype=bool), np.zeros(6, dtype=np.intp)
    )
    start = Params(np.zeros(6), np.tile(prior.mean, (2, 1)))
    found = maximise(fold, start, prior)
    assert found.converged
    assert np.isfinite(found.stats.log_likelihood)
    reliability = dict(zip(read.workers, found.params.judge[:, 0], strict=True))
    assert reliability[1] < 0 < reliability[0]


def test_a_winner_that_is_another_system_of_the_table_is_no_word() -> None:
    rows = [("a", "b", "j", "C"), ("a", "c", "j", "a")]
    assert quorate.rank(rows).ties == 1  # as judges of pairs write a tie
    with pytest.raises(DataError, match="neither of their systems: 'c'"):
        quorate.rank([("a", "b", "j", "c"), ("a", "c", "j", "a")])


def test_ties_alone_and_what_is_left_out_are_told() -> None:
    found = quorate.rank([("a", "b", "j", "tie"), ("a", "a", "j", "a")])
    assert "Every comparison is a tie: leaning to a side cannot be told." in found.notes
    assert "Left out: 1 row of a system with itself." in found.notes
