"""Estimates: exact intervals, coverage, groups, comparisons, plans, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from scipy.stats import hypergeom, norm

import quorate
from quorate import DataError, UsageError
from quorate.cli import main
from quorate.estimation import alone, calibration, prediction, sampling
from quorate.estimation.figures import Interval, Tasks, by_what_is_shown, figure


def panel(
    n_tasks: int = 600, share: float = 0.4, lean: float = 0.0, n_judges: int = 5, seed: int = 0
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Votes of judges who lean to "yes", and the answers of all tasks."""
    random = np.random.default_rng(seed)
    truth = random.random(n_tasks) < share
    right = random.random((n_tasks, n_judges)) < np.where(truth[:, None], 0.85 + lean, 0.85 - lean)
    said = np.where(right, truth[:, None], ~truth[:, None])
    names = np.array(["no", "yes"])
    votes = pl.DataFrame(
        {
            "task": np.repeat([f"t{i}" for i in range(n_tasks)], n_judges),
            "worker": np.tile([f"j{i}" for i in range(n_judges)], n_tasks),
            "label": names[said.astype(int)].ravel(),
        }
    )
    gold = pl.DataFrame(
        {"task": [f"t{i}" for i in range(n_tasks)], "label": names[truth.astype(int)]}
    )
    return votes, gold


def some(gold: pl.DataFrame, n: int, seed: int = 0) -> pl.DataFrame:
    return gold.sample(n, seed=seed, shuffle=True)


# Intervals


@pytest.mark.parametrize(
    ("x", "n", "n_tasks"), [(0, 20, 300), (3, 20, 300), (20, 20, 90), (7, 50, 60)]
)
def test_answers_alone_hold_every_number_that_mid_p_does_not_exclude(
    x: int, n: int, n_tasks: int
) -> None:
    held = [
        k / n_tasks
        for k in range(x, n_tasks - n + x + 1)
        if min(
            hypergeom.cdf(x - 1, n_tasks, k, n) + hypergeom.pmf(x, n_tasks, k, n) / 2,
            hypergeom.sf(x, n_tasks, k, n) + hypergeom.pmf(x, n_tasks, k, n) / 2,
        )
        > 0.025
    ]
    assert alone.share_of_these(x, n, n_tasks, 0.95) == (held[0], held[-1])


@pytest.mark.parametrize("n_yes", [2, 13, 25])
def test_score_that_says_nothing_gives_the_mid_p_interval(n_yes: int) -> None:
    value = np.repeat([1.0, 0.0], [n_yes, 50 - n_yes])
    candidate = prediction.nothing(np.zeros(1000), 50)
    answers = calibration.Answers.even(value, 1_000_000)
    found = calibration.evidence([candidate], answers)
    _, low, high = calibration.quantiles(found, found.log_weight, 0.95)
    assert (low, high) == pytest.approx(alone.share_of_more(n_yes, 50, 0.95), abs=4e-3)


def test_answers_that_were_drawn_alike_have_the_variance_of_sampling_without_replacement() -> None:
    answers = calibration.Answers.even(np.ones(30), 200)
    assert (answers.weight == 1).all()
    assert answers.variance(np.ones(30)) == pytest.approx((1 - 30 / 200) / 30)


def test_answers_of_a_plan_have_the_variance_of_their_sample() -> None:
    random = np.random.default_rng(2)
    spread = random.uniform(0.01, 0.25, 400)
    pi = sampling.inclusion(np.sqrt(spread), 60)
    keys = np.arange(400, dtype=np.uint64)
    told, seen = [], []
    truth = (random.random(400) < 0.5).astype(float)  # as far from a half as v says, on average
    error = np.where(truth > 0, 1, -1) * np.sqrt(spread)
    for seed in range(300):
        known = sampling.drawn(pi, spread, keys, seed)
        answers = calibration.Answers.drawn(truth[known], pi[known], 400)
        told.append(float(answers.variance(spread[known])))
        seen.append(float((error[known] / pi[known]).sum() / (1 / pi[known]).sum()))
    assert np.mean(told) == pytest.approx(np.var(seen), rel=0.2)


def test_answers_that_count_the_roots_of_their_weights_have_the_variance_of_the_model() -> None:
    random = np.random.default_rng(5)
    least, most = sampling.spread_of(np.array([0.0, 0.5]))
    spread = random.uniform(least, most, 400)
    pi = sampling.inclusion(spread**sampling.POWER, 60)
    keys = np.arange(400, dtype=np.uint64)
    told, seen = [], []
    for seed in range(600):
        known = sampling.drawn(pi, spread, keys, seed)
        error = random.choice([-1.0, 1.0], 400) * np.sqrt(spread)
        answers = calibration.Answers.drawn(error[known], pi[known], 400, by_plan=True)
        told.append(float(answers.variance(spread[known])))
        unknown = np.setdiff1d(np.arange(400), known)
        level = answers.weight @ error[known] / (answers.weight @ spread[known])
        seen.append(float(spread[unknown].sum() * level - error[unknown].sum()) / 400)
    assert np.mean(told) == pytest.approx(np.mean(np.square(seen)), rel=0.2)


def test_the_interval_of_a_plan_is_not_widened_by_answers_that_misfit() -> None:
    score = np.linspace(-3, 3, 40)
    wrong = (score < 0).astype(float)
    candidate = calibration.Candidate(score[None], score, np.array([1.0]), np.zeros(1))
    even, plan = (
        calibration.evidence(
            [candidate], calibration.Answers.drawn(wrong, np.full(40, 0.1), 400, by_plan)
        ).variance[0]
        for by_plan in (False, True)
    )
    assert plan < 0.7 * even


def test_half_an_answer_is_half_of_what_answers_count() -> None:
    value, pi = np.ones(3), np.array([0.02, 0.05, 0.2])
    assert calibration.Answers.even(value, 100).half_answer == pytest.approx(0.5)
    uneven = calibration.Answers.drawn(value, pi, 100)
    assert uneven.half_answer == pytest.approx(uneven.weight.sum() / 6)
    assert uneven.half_answer < 0.4


def test_folds_are_learned_as_if_each_had_been_left_out() -> None:
    random = np.random.default_rng(1)
    features = random.normal(size=(23, 5))
    kernel, target, fold = features @ features.T, random.normal(size=23), np.arange(23) % 4
    weight, score = prediction._fold_by_fold(kernel, target, fold, 3.0)
    for each in range(4):
        seen, hidden = fold != each, fold == each
        gram = kernel[np.ix_(seen, seen)] + 3.0 / 23 * np.eye(seen.sum())
        naive = np.linalg.solve(gram, target[seen] - target[seen].mean())
        np.testing.assert_allclose(weight[seen, each], naive, atol=1e-9)
        np.testing.assert_allclose(score[hidden], kernel[np.ix_(hidden, seen)] @ naive, atol=1e-9)


def good_score(n_errors: int, n: int = 40, n_yes: int = 20) -> tuple[Any, calibration.Answers]:
    """Evidence of a score that takes some of the known answers for the other, and the answers."""
    value = (np.arange(n) < n_yes).astype(float)
    said = np.where(np.arange(n) % (n // max(n_errors, 1)) == 0, 1 - value, value)
    known = prediction.Known(np.arange(n), value, np.arange(n) % 10)
    odds = prediction.log_odds(0.05 + 0.9 * (said if n_errors else value))
    unknown = np.tile(odds, 19)
    candidate = prediction._of_consensus(
        np.concatenate([odds, unknown]), np.arange(20 * n) >= n, known
    )
    answers = calibration.Answers.even(value, 20 * n)
    return calibration.evidence([candidate], answers), answers


def test_what_answers_show_of_the_variance_is_that_of_a_mean_of_their_errors() -> None:
    found, answers = good_score(4)
    mean_of_errors = float(found.shown[-1]) * 40 / (1 - 1 / 20)  # times n / (1 - n / N)
    assert 4 / 40 * 0.7 < mean_of_errors < 4 / 40 * 1.1
    mean, variance = answers.alone()
    assert (mean, variance) == pytest.approx((0.5, 0.25 / 40 * (1 - 1 / 20)))


def test_interval_leaves_out_part_of_what_answers_do_not_show() -> None:
    found, answers = good_score(0)
    allowed = Interval(0.45, 0.35, 0.6)
    variance = (0.125 / norm.ppf(0.975)) ** 2
    shown = calibration.mean_of_rows(found.shown, found.log_weight)
    unseen = variance - 2.5 * shown
    mean, of_mean = answers.alone()
    towards = np.sqrt(40 / 100 / 3 * unseen / (of_mean - shown))
    got = by_what_is_shown(allowed, found, found.log_weight, answers, 0.95)
    assert unseen > 0.9 * variance
    assert got.estimate == pytest.approx(0.45 + towards * (mean - 0.45))
    assert got.width == pytest.approx(0.25 * np.sqrt(1 - 0.4 * unseen / variance))
    assert (got.estimate - got.low) / got.width == pytest.approx(0.4)  # as before


def test_interval_stays_where_errors_are_shown_or_too_few_answers_are_of_a_kind() -> None:
    allowed = Interval(0.45, 0.35, 0.6)
    for n_errors, n_yes in ((20, 20), (0, 4), (0, 36)):
        found, answers = good_score(n_errors, n_yes=n_yes)
        got = by_what_is_shown(allowed, found, found.log_weight, answers, 0.95)
        assert got == pytest.approx(allowed)


def test_with_many_answers_it_is_ppi_plus_plus() -> None:
    random = np.random.default_rng(3)
    n, n_tasks = 2000, 20_000
    truth = (random.random(n_tasks) < 0.35).astype(float)
    judge = np.where(random.random(n_tasks) < 0.8, truth, 1 - truth)
    # PPI++ with the power tuning of Angelopoulos, Bates and Zrnic (2023), straight from the paper.
    y, f, g = truth[:n], judge[:n], judge[n:]
    tuning = np.cov(y, f)[0, 1] / (judge.var() * (1 + n / (n_tasks - n)))
    centre = tuning * g.mean() + (y - tuning * f).mean()
    variance = (y - tuning * f).var() / n + tuning**2 * g.var() / (n_tasks - n)
    known = prediction.Known(np.arange(n), y, np.arange(n) % 10)
    scores = [prediction.nothing(g, n), prediction._of_consensus(
        prediction.log_odds(0.1 + 0.8 * judge), np.arange(n_tasks) >= n, known
    )]  # fmt: skip
    answers = calibration.Answers.even(y, n_tasks)
    found = calibration.evidence(scores, answers)
    tasks = Tasks(n_tasks, these=False)
    ours = figure(found, found.log_weight, answers, tasks, 0.95)
    assert ours.estimate == pytest.approx(centre, abs=0.002)
    assert ours.width == pytest.approx(2 * norm.ppf(0.975) * np.sqrt(variance), rel=0.04)


def test_all_answers_known_leave_nothing_to_estimate() -> None:
    votes, gold = panel(60)
    found = quorate.estimate(votes, gold=gold)["yes"]
    share = (gold["label"] == "yes").mean()
    assert (found.estimate, found.low, found.high) == pytest.approx((share, share, share))


def test_biased_panel_is_corrected_and_its_bias_said() -> None:
    votes, gold = panel(1500, lean=0.12, share=0.3, seed=2)
    share = float((gold["label"] == "yes").mean())  # type: ignore[arg-type]
    found = quorate.estimate(votes, gold=some(gold, 150, seed=1))
    one = found["yes"]
    assert one.low <= share <= one.high
    assert one.high - one.low < 0.7 * (one.answers_high - one.answers_low)  # type: ignore[operator]
    assert found["no"].estimate == pytest.approx(1 - one.estimate)


@pytest.mark.parametrize("share", [0.03, 0.5])
def test_intervals_hold(share: float) -> None:
    votes, gold = panel(400, share=share, lean=0.08, seed=5)
    labels = quorate.read_votes(votes).labels
    consensus = quorate.aggregate(votes).posterior[:, 1]
    said = np.where(labels.label == 1, 1.0, -1.0)
    from scipy.sparse import csr_array

    matrix = csr_array((said, (labels.task_of_label(), labels.worker)))
    truth = (gold["label"] == "yes").to_numpy().astype(float)
    random, held, narrower = np.random.default_rng(1), 0, 0.0
    for _ in range(60):
        at = random.permutation(400)[:30]
        known = prediction.Known(at, truth[at], np.arange(30) % 10)
        answers = calibration.Answers.even(truth[at], 400)
        found = calibration.evidence(prediction.candidates(consensus, matrix, known), answers)
        ours = figure(found, found.log_weight, answers, Tasks(400), 0.95)
        low, high = alone.share_of_these(int(truth[at].sum()), 30, 400, 0.95)
        held += ours.low - 1e-9 <= truth.mean() <= ours.high + 1e-9
        narrower += ours.width / (high - low) / 60
    assert held >= 53 and narrower < 1.0


def test_no_answers_of_a_class_leave_room_for_it() -> None:
    votes, gold = panel(400, share=0.02, seed=4)
    only_no = gold.filter(pl.col("label") == "no").head(25)
    found = quorate.estimate(votes, gold=only_no)["yes"]
    assert 0 <= found.low <= 0.02 <= found.high <= 0.2


# What can be asked for


def test_mean_of_values_is_the_scaled_share_of_two_classes() -> None:
    votes, gold = panel()
    known = some(gold, 60)
    share = quorate.estimate(votes, gold=known)["yes"]
    mean = quorate.estimate(votes, gold=known, value={"no": 1, "yes": 5})["mean"]
    assert mean.estimate == pytest.approx(1 + 4 * share.estimate)
    assert (mean.low, mean.high) == pytest.approx((1 + 4 * share.low, 1 + 4 * share.high))


def test_mean_of_grades_holds_the_truth() -> None:
    random = np.random.default_rng(6)
    truth = random.integers(1, 6, 500)
    said = np.clip(truth[:, None] + random.choice([-1, 0, 0, 0, 1], (500, 4)), 1, 5)
    votes = [(t, w, int(said[t, w])) for t in range(500) for w in range(4)]
    gold = {t: int(truth[t]) for t in range(80)}
    found = quorate.estimate(votes, gold=gold, value=True)["mean"]
    assert found.low <= truth.mean() <= found.high
    assert found.high - found.low < found.answers_high - found.answers_low  # type: ignore[operator]


def test_groups_have_rows_of_their_own_and_can_be_compared() -> None:
    votes, gold = panel(800, share=0.3, seed=1)
    better, answers = panel(800, share=0.6, seed=2)
    votes = pl.concat([votes.with_columns(system=pl.lit("A")), better.with_columns(
        pl.col("task") + "x", system=pl.lit("B"))])  # fmt: skip
    gold = pl.concat([some(gold, 80), some(answers.with_columns(pl.col("task") + "x"), 80)])
    found = quorate.estimate(votes, gold=gold, by="system", compare=("B", "A"))
    assert found["A", "yes"].tasks == found["B", "yes"].tasks == 800
    assert found["A", "yes"].low_all <= found["A", "yes"].low
    assert found.difference is not None
    assert found.difference.low > 0 and found.difference.p_value < 1e-3
    assert any("Bonferroni" in note for note in found.notes)


def test_pairs_of_tasks_make_the_difference_narrower() -> None:
    """Where judges are poor: good ones leave nothing for the pairs to explain."""
    random = np.random.default_rng(8)
    hard = random.random(500)
    rows, gold = [], []
    for system, gain in (("A", 0.0), ("B", 0.05)):
        truth = hard < 0.5 + gain
        said = np.where(random.random((500, 3)) < 0.65, truth[:, None], ~truth[:, None])
        rows += [
            (f"{i}{system}", f"j{j}", str(said[i, j]), system, i)
            for i in range(500)
            for j in range(3)
        ]
        gold += [(f"{i}{system}", str(truth[i])) for i in range(120)]
    votes = pl.DataFrame(rows, schema=["task", "worker", "label", "system", "item"], orient="row")
    answers = pl.DataFrame(gold, schema=["task", "label"], orient="row")
    how: dict[str, Any] = {"gold": answers, "by": "system", "compare": ("B", "A")}
    loose, tight = quorate.estimate(votes, **how), quorate.estimate(votes, pair="item", **how)
    assert loose.difference is not None and tight.difference is not None
    assert tight.difference.paired == 500
    assert tight.difference.low <= 0.05 <= tight.difference.high
    wide = loose.difference.high - loose.difference.low
    assert tight.difference.high - tight.difference.low < wide


def test_win_rate_counts_ties_as_a_half() -> None:
    votes = [(t, w, ("A", "B", "tie")[t % 3]) for t in range(90) for w in range(3)]
    gold = {t: ("A", "B", "tie")[t % 3] for t in range(60)}
    found = quorate.estimate(votes, gold=gold, compare=("A", "B"))
    assert found["A beats B"].estimate == pytest.approx(0.5, abs=0.05)
    more = quorate.estimate(votes, gold=gold, compare=("A", "B"), ties=1.0)
    assert more["A beats B"].estimate > 0.6


def test_two_orders_are_one_judge_whose_position_bias_is_found() -> None:
    random = np.random.default_rng(9)
    truth = np.where(random.random(300) < 0.5, "1", "2")
    rows = []
    for t in range(300):
        rows += [(t, "first#a", "1"), (t, "first#b", "2")]  # always what is shown first
        for order in "ab":
            for judge in ("x", "y"):
                right = random.random() < 0.85
                rows.append(
                    (t, f"{judge}#{order}", truth[t] if right else {"1": "2", "2": "1"}[truth[t]])
                )
    found = quorate.estimate(rows, gold=dict(enumerate(truth[:60].tolist())))
    bias = {one.judge: one for one in found.positions}
    assert set(bias) == {"first", "x", "y"}
    assert bias["first"].bias == 0.5 and bias["first"].changed == 1.0
    assert bias["x"].low < 0 < bias["x"].high
    assert found["1"].low <= (truth == "1").mean() <= found["1"].high


def test_column_of_swaps_turns_positions_into_answers() -> None:
    rows = [(t, "j", "first" if t % 2 else "second", t % 2) for t in range(80)]
    rows[0] = (0, "j", "first", 0)
    votes = pl.DataFrame(rows, schema=["task", "worker", "label", "swap"], orient="row")
    votes = pl.concat([votes, votes.with_columns(worker=pl.lit("k"))])
    found = quorate.estimate(votes, swap="swap")
    assert found["second"].votes_alone > 0.9  # swapped and first is the second, whoever looks


def test_groups_of_votes_with_swaps() -> None:
    rows = [
        (t, judge, "first" if (t % 3 > 0) != swap else "second", int(swap), "ab"[t % 2])
        for t in range(90)
        for judge in "xy"
        for swap in (False, True)
    ]
    columns = ["task", "worker", "label", "swap", "topic"]
    votes = pl.DataFrame(rows, schema=columns, orient="row")
    found = quorate.estimate(votes, swap="swap", by="topic", gold=dict.fromkeys((1, 2, 4), "first"))
    assert found["a", "first"].tasks == 45 and found["b", "first"].known == 1
    assert found["a", "first"].votes_alone == pytest.approx(2 / 3, abs=0.1)


def test_pairs_of_which_one_task_is_known_are_compared_as_groups() -> None:
    votes, gold = panel(200)
    votes = votes.with_columns(
        system=pl.when(pl.col("task").str.slice(1).cast(pl.Int64) < 100).then(pl.lit("A"))
        .otherwise(pl.lit("B")),
        item=pl.col("task").str.slice(1).cast(pl.Int64) % 100,
    )  # fmt: skip
    known = pl.concat([gold[:40], gold[150:190]])  # no pair has both answers
    how: dict[str, Any] = {"by": "system", "compare": ("A", "B"), "gold": known}
    found = quorate.estimate(votes, pair="item", **how)
    assert found.difference == quorate.estimate(votes, **how).difference
    assert any("too few pairs" in note for note in found.notes)


def test_interval_is_never_wider_than_that_of_the_answers_alone() -> None:
    votes, gold = panel(150, share=0.03, seed=3)
    for seed in range(6):
        for one in quorate.estimate(votes, gold=some(gold, 20, seed)).figures:
            assert one.answers_low is not None and one.answers_high is not None
            assert one.high - one.low <= one.answers_high - one.answers_low + 1e-9


def test_level_is_that_of_the_interval_without_answers_too() -> None:
    votes, _ = panel(100)
    wide, narrow = (quorate.estimate(votes, level=level)["yes"] for level in (0.99, 0.8))
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)


def test_known_tasks_that_look_unlike_the_rest_are_noted() -> None:
    votes, gold = panel(600, share=0.4)
    chosen = gold.filter(pl.col("label") == "yes").head(60)
    assert any("unlike the rest" in note for note in quorate.estimate(votes, gold=chosen).notes)
    assert not any("unlike" in n for n in quorate.estimate(votes, gold=some(gold, 60)).notes)


def test_weights_undo_a_sample_that_was_not_even() -> None:
    votes, gold = panel(3000, share=0.4, seed=11)
    yes, no = (gold.filter(pl.col("label") == label) for label in ("yes", "no"))
    known = pl.concat([some(yes, 120), some(no, 60)])
    weights = {
        task: (len(yes) / 120 if label == "yes" else len(no) / 60) for task, label in known.rows()
    }
    found = quorate.estimate(votes, gold=known, sampling=weights)["yes"]
    assert found.low <= len(yes) / 3000 <= found.high
    assert found.answers_alone == pytest.approx(len(yes) / 3000, abs=1e-6)


def test_weights_of_no_column_are_one_sentence_that_names_no_option_there_is_not() -> None:
    votes, gold = panel(100)
    with pytest.raises(DataError, match=r"no column 'weight': .*; name one of them weight\.$"):
        quorate.estimate(votes, gold=gold.head(20), sampling=votes)


def test_without_gold_there_is_a_warning() -> None:
    votes, _ = panel(100)
    found = quorate.estimate(votes)
    assert any("no known answers" in note for note in found.notes)
    assert found["yes"].low < found["yes"].estimate < found["yes"].high


# The plan


def test_inclusion_probabilities_add_up_and_favour_the_uncertain() -> None:
    spread = np.linspace(0.01, 0.25, 400)
    found = sampling.inclusion(spread, 100)
    assert found.sum() == pytest.approx(100) and found.max() <= 1 and (np.diff(found) > 0).all()
    assert sampling.inclusion(spread, 400).min() == 1


def test_tasks_are_drawn_with_their_probabilities() -> None:
    probability = sampling.inclusion(np.linspace(0.01, 0.25, 50), 10)
    keys = np.arange(50, dtype=np.uint64)
    counts = np.zeros(50)
    for seed in range(600):
        drawn = sampling.drawn(probability, probability, keys, seed)
        assert len(drawn) == 10
        counts[drawn] += 1
    np.testing.assert_allclose(counts / 600, probability, atol=0.08)


@pytest.mark.parametrize("n_classes", [1, 3])
def test_tasks_are_drawn_in_proportion_all_along_the_consensus(n_classes: int) -> None:
    random = np.random.default_rng(3)
    consensus = random.dirichlet(np.ones(3), 300)
    probability = sampling.inclusion(random.uniform(0.01, 1, 300), 60)
    score = consensus[:, 0] if n_classes == 1 else consensus.argmax(axis=1) + consensus.max(axis=1)
    order = score.argsort()
    given = consensus[:, 0] if n_classes == 1 else consensus
    samples = set()
    for seed in range(20):
        drawn = sampling.drawn(probability, given, np.arange(300, dtype=np.uint64), seed)
        ahead = np.isin(order, drawn).cumsum() - probability[order].cumsum()
        assert np.abs(ahead).max() < 1
        samples.add(tuple(drawn))
    assert len(samples) == 20


def test_plan_comes_back_filled_in(tmp_path: Path) -> None:
    votes, gold = panel(500, seed=12)
    plan = quorate.estimate(votes, plan=80)
    assert plan.plan.height == 80 and plan.curve["planned"].is_sorted(descending=True)
    filled = plan.plan.drop("label").join(gold, on="task")
    filled.write_csv(tmp_path / "plan.csv")
    found = quorate.estimate(votes, gold=str(tmp_path / "plan.csv"))["yes"]
    assert found.known == 80
    assert found == quorate.estimate(votes, gold=filled)["yes"]


def test_intervals_of_plans_hold() -> None:
    votes, gold = panel(500, seed=12)
    share = (gold["label"] == "yes").mean()
    held = 0
    for seed in range(16):
        plan = quorate.estimate(votes, plan=80, seed=seed).plan
        one = quorate.estimate(votes, gold=plan.drop("label").join(gold, on="task"))["yes"]
        held += one.low <= share <= one.high
    assert held >= 14


def test_plan_for_a_value_is_known_by_its_probabilities() -> None:
    random = np.random.default_rng(4)
    consensus = random.beta(0.5, 0.5, 300)
    probability = sampling.inclusion(sampling.worth_of(consensus), 40)
    known = sampling.drawn(probability, consensus, np.arange(300, dtype=np.uint64), 1)
    assert sampling.is_by_plan(consensus, known, probability[known])
    assert not sampling.is_by_plan(consensus, known, np.full(len(known), len(known) / 300))
    assert not sampling.is_by_plan(consensus**2, known, probability[known])


# The command, and what is refused


def test_command(tmp_path: Path) -> None:
    votes, gold = panel(200)
    votes.write_csv(tmp_path / "votes.csv")
    some(gold, 40).write_csv(tmp_path / "gold.csv")
    run = CliRunner().invoke
    shown = run(
        main, ["estimate", str(tmp_path / "votes.csv"), "--gold", str(tmp_path / "gold.csv")]
    )
    assert shown.exit_code == 0, shown.output
    assert "95 % interval" in shown.output and "40 of 200" in shown.output
    told = run(main, ["estimate", str(tmp_path / "votes.csv"), "--plan", "20", "--json",
                      "-o", str(tmp_path / "plan.csv")])  # fmt: skip
    assert json.loads(told.stdout)["plan"] == 20
    assert pl.read_csv(tmp_path / "plan.csv").columns == ["task", "label", "probability"]


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"level": 1.5}, "level is from 0.5"),
        ({"compare": ("a", "b")}, "no class"),
        ({"value": {"yes": 1}}, "no number for 'no'"),
        ({"value": True}, "is no number"),
        ({"by": "nowhere"}, "no column 'nowhere'"),
        ({"plan": 5, "gold": {"t1": "yes"}}, "leave gold out"),
        ({"sampling": {"t1": -1}, "gold": {"t1": "yes"}}, "no weight above 0"),
        ({"golde": {}}, "did you mean 'gold'"),
        ({"ties": 0.2}, "say which"),
        ({"ties": 2, "compare": ("yes", "no")}, "from 0 to 1"),
        ({"sampling": {"t1": 1}}, "give them too"),
        ({"pair": "item"}, "say which groups"),
    ],
)
def test_refused_in_one_sentence(how: dict[str, Any], sentence: str) -> None:
    votes, _ = panel(40)
    with pytest.raises((UsageError, DataError), match=sentence):
        quorate.estimate(votes, **how)


def test_repr_and_card_say_the_figures() -> None:
    votes, gold = panel(150)
    found = quorate.estimate(votes, gold=some(gold, 40))
    assert "answers alone" in repr(found) and "<td>yes</td>" in found._repr_html_()
    assert found.table.columns[0] == "what"
