"""Scores: judges are recovered, constant, few and wild ones do no harm, every engine agrees."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import quorate
from quorate.errors import DataError, UsageError
from quorate.labels import Labels
from quorate.scoring.model import ScoreModel

Floats = NDArray[np.float64]


class Crowd(NamedTuple):
    """Ratings of known grades by judges of known offset, scale and noise. Grades are told on the
    judges' scale: their mean offset is 0 and their mean scale 1, by their information."""

    table: pl.DataFrame
    grade: Floats
    offset: Floats
    scale: Floats
    noise: Floats


def crowd(seed: int, tasks: int = 400, judges: int = 10, each: int = 5, wild: float = 0.0) -> Crowd:
    random = np.random.default_rng(seed)
    grade = random.normal(size=tasks) * 1.5
    offset, scale = random.normal(size=judges) * 0.7, np.exp(random.normal(size=judges) * 0.25)
    noise = np.exp(random.normal(size=judges) * 0.5 - 0.4)
    share = scale**2 / noise**2 / (scale**2 / noise**2).sum()
    offset, factor = offset - share @ offset, float(share @ scale)
    grade, scale = grade * factor, scale / factor
    task = np.repeat(np.arange(tasks), each)
    worker = np.concatenate([random.permutation(judges)[:each] for _ in range(tasks)])
    score = 5 + offset[worker] + scale[worker] * grade[task]
    score = score + noise[worker] * random.normal(size=len(task))
    score = score + (random.random(len(task)) < wild) * random.choice([-9, 9], len(task))
    table = pl.DataFrame({"task": task, "worker": worker, "label": score})
    return Crowd(table, 5 + grade, offset, scale, noise)


def test_offsets_scales_noises_and_grades_are_recovered() -> None:
    known = crowd(1, tasks=1500)
    found = quorate.scores(known.table)
    judges = found.workers_frame.sort("worker")
    np.testing.assert_allclose(judges["offset"], known.offset, atol=0.12)
    np.testing.assert_allclose(judges["scale"], known.scale, atol=0.1)
    np.testing.assert_allclose(judges["noise"], known.noise, rtol=0.25)
    assert judges["reliability"].arg_max() == np.argmax(known.scale / known.noise)
    scores = found.scores_frame.sort("task")
    error, plain = (np.square(scores[of] - known.grade).mean() for of in ("score", "mean"))
    assert error < 0.6 * plain
    assert found.converged


def test_intervals_hold() -> None:
    covered, of_judges = [], []
    for seed in range(6):
        known = crowd(seed, tasks=250)
        found = quorate.scores(known.table)
        scores, judges = found.scores_frame.sort("task"), found.workers_frame.sort("worker")
        covered.append(_within(scores, "", known.grade).mean())
        of_judges += [
            *_within(judges, "offset_", known.offset),
            *_within(judges, "scale_", known.scale),
        ]
    assert 0.88 <= np.mean(covered) <= 0.98
    assert np.mean(of_judges) > 0.7  # of parameters that depend on each other


def _within(frame: pl.DataFrame, name: str, truth: Floats) -> NDArray[np.bool_]:
    return (frame[f"{name}low"].to_numpy() <= truth) & (truth <= frame[f"{name}high"].to_numpy())


def test_wild_scores_count_little() -> None:
    known = crowd(2, wild=0.05)
    scores = quorate.scores(known.table).scores_frame.sort("task")
    error, plain = (np.square(scores[of] - known.grade).mean() for of in ("score", "mean"))
    assert error < 0.35 * plain


def test_a_judge_who_always_says_the_same_changes_nothing() -> None:
    known = crowd(3)
    constant = known.table.unique("task").with_columns(worker=pl.lit(99), label=pl.lit(9.0))
    constant = constant.with_columns(pl.col("worker").cast(pl.Int64))
    found = quorate.scores(pl.concat([known.table, constant]))
    same = found.workers_frame.filter(worker=99)
    assert same["reliability"].item() < 0.05
    before = quorate.scores(known.table).scores_frame.sort("task")["score"]
    after = found.scores_frame.sort("task")["score"]
    assert np.abs(after - before).max() < 0.25
    assert np.corrcoef(before, after)[0, 1] > 0.999


def test_two_judges_have_the_same_noise_and_one_judge_is_possible() -> None:
    known = crowd(4, judges=2, each=2)
    found = quorate.scores(known.table)
    assert found.workers_frame["noise"].n_unique() == 1
    assert any("two judges" in note for note in found.notes)
    scores = found.scores_frame.sort("task")
    assert np.corrcoef(scores["score"], known.grade)[0, 1] > 0.8
    alone = quorate.scores(known.table.filter(worker=0))
    assert np.isfinite(alone.scores_frame["score"].to_numpy()).all()
    assert any("No task has two ratings" in note for note in alone.notes)


def test_known_scores_put_the_consensus_on_their_scale() -> None:
    known = crowd(5)
    truth = 100 + 20 * known.grade
    gold = {task: float(truth[task]) for task in range(60)}
    found = quorate.scores(known.table, gold=gold)
    assert found.calibration is not None
    assert found.calibration.known == 60
    assert found.calibration.slope == pytest.approx(20, rel=0.15)
    scores = found.scores_frame.sort("task")
    assert scores["score"][:60].to_list() == list(gold.values())
    rest = scores[60:]
    assert np.abs(rest["score"] - truth[60:]).mean() < 15
    assert 0.88 <= _within(rest, "", truth[60:]).mean() <= 0.99
    few = quorate.scores(known.table, gold={0: 4.0, 1: 5.0})
    assert few.calibration is None and any("fewer than 5" in note for note in few.notes)


def test_words_can_stand_for_numbers() -> None:
    grades = {"bad": 0, "fair": 1, "good": 2}
    known = crowd(6, tasks=60)
    word = np.array(list(grades))[np.digitize(known.table["label"], [4, 6])]
    words = known.table.with_columns(label=pl.Series(word))
    numbers = words.with_columns(pl.col("label").replace_strict(grades))
    one = quorate.scores(words, values=grades).scores_frame
    two = quorate.scores(numbers).scores_frame
    np.testing.assert_allclose(one["score"], two["score"], atol=1e-9)
    with pytest.raises(DataError, match=r"label 'bad' is no number: say with values"):
        quorate.scores(words)
    with pytest.raises(UsageError, match="values has no number for the label 'good'"):
        quorate.scores(words, values={"bad": 0, "fair": 1})


def test_memory_disk_and_threads_give_the_same_bits(tmp_path: Path) -> None:
    known = crowd(7, tasks=200)
    path = tmp_path / "votes.csv"
    known.table.write_csv(path)
    here = quorate.scores(path, threads=1)
    for found in (
        quorate.scores(path, threads=2),
        quorate.scores(path, engine="disk"),
        quorate.scores(path, memory="1GB", store=tmp_path / "store"),
        quorate.scores(known.table, engine="disk"),
    ):
        table = found.scores
        table = table.collect() if isinstance(table, pl.LazyFrame) else table
        assert table.sort("task").equals(here.scores.sort("task"))
        assert found.workers.sort("worker").equals(here.workers.sort("worker"))


def test_statistics_add_over_blocks() -> None:
    known = crowd(8, tasks=60)
    votes = quorate.read_votes(known.table)
    model = ScoreModel.of(votes.codebook.classes.to_numpy())
    params = model.start(10)
    _, whole = model.sweep(votes.labels, params, None)
    parts = [model.sweep(block, params, None)[1] for block in votes.labels.blocks(40)]
    assert len(parts) > 3
    judges = sum(part.judges.dense() for part in parts)
    np.testing.assert_allclose(judges, whole.judges.dense(), rtol=1e-12)
    assert sum(part.square for part in parts) == pytest.approx(whole.square)


def test_the_grades_of_plain_judges_are_the_shrunk_mean() -> None:
    """Of judges who are alike and have no wild scores: the posterior mean of a normal grade."""
    labels = Labels.from_codes([0, 0, 1], [0, 1, 0], [0, 1, 2])
    model = ScoreModel.of(np.array([-0.1, 0.0, 0.1]))
    params = model.start(2)._replace(noise=np.array([1.0, 1.0]), spread=1.0)
    grades = model.grades(labels, params)
    weight = grades.weight
    expected = (weight[0] * -0.1 + weight[1] * 0.0) / (1 + weight[0] + weight[1])
    assert grades.mean[0] == pytest.approx(expected, abs=1e-3)
    assert grades.variance[1] == pytest.approx(1 / (1 + weight[2]), rel=1e-2)


ROWS = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(0, 2), st.sampled_from([0.0, 1.0, 5.0, -1e6, 1e-9, 3.5])
    ),
    min_size=1,
    max_size=12,
)


@given(ROWS)
def test_any_scores_give_finite_numbers(rows: list[Any]) -> None:
    found = quorate.scores(rows, threads=1)
    for frame in (found.scores_frame, found.workers_frame):
        assert np.isfinite(frame.select(pl.col(pl.Float64)).to_numpy()).all()  # type: ignore[union-attr]
    assert 0 <= found.reliability <= 1
    assert "Scores of" in repr(found) and "quorate-card" in found._repr_html_()


def test_bad_calls_are_one_sentence() -> None:
    rows = [("a", "x", 1.0), ("a", "y", 2.0)]
    with pytest.raises(DataError, match="infinite"):
        quorate.scores([*rows, ("b", "x", np.inf)])
    for wrong in ({"level": 0.0}, {"resume": True}, {"glod": {}}):
        with pytest.raises(UsageError):
            quorate.scores(rows, **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["web", "s_rel"])
def test_on_graded_sets_the_consensus_is_nearer_to_gold_than_the_mean(
    name: str, data: Path
) -> None:
    """Of s_rel without the label 3, a broken link, which is no grade."""
    votes, gold = (pl.read_csv(data / name / f"{of}.csv") for of in ("labels", "gold"))
    if name == "s_rel":
        votes, gold = (table.filter(pl.col("label") < 3) for table in (votes, gold))
    found = quorate.scores(votes).scores_frame.join(gold, on="task")  # type: ignore[arg-type]
    error, plain = (np.square(found[of] - found["label"]).mean() for of in ("score", "mean"))  # type: ignore[index]
    assert error < 0.95 * plain


def test_slips_that_all_go_one_way_do_not_move_the_level() -> None:
    random = np.random.default_rng(4)
    grade = random.choice([0.0, 0.0, 0.0, 1.0, 3.0], 400)
    said = grade[:, None] + random.normal(0, 0.2, (400, 6))
    said = np.where(random.random(said.shape) < 0.08, 3.0, said)  # most grades are below 3
    found = quorate.scores([(t, j, said[t, j]) for t in range(400) for j in range(6)]).scores
    assert found["score"].mean() == pytest.approx(said.mean(), abs=0.02)
