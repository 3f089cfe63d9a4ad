"""The experiment of Fast Dawid-Skene: what must come out, and what its helpers do at the edges."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reproductions.conftest import QuickRun

from quorate.labels import Labels
from reproductions import fast_ds
from reproductions.experiment import Plan, Report
from reproductions.fast_ds import offline, online, several
from reproductions.fast_ds.contest import (
    LIKELIHOODS,
    PUBLISHED_LOSS,
    annotators,
    iterations,
    paired_z,
    prepared,
    shuffled_ranks,
    sizes,
    timed,
)
from reproductions.fast_ds.findings import _range, _ratios
from reproductions.fast_ds.offline import ALL_LABELS, DATA_SETS
from reproductions.fitting import fitted
from reproductions.scoring import subset


@pytest.fixture(scope="module")
def plan(data: Path) -> Plan:
    return Plan(data, frozenset(ALL_LABELS), quick=True)


@pytest.fixture(scope="module")
def report(quick: QuickRun) -> Report:
    return quick.report(fast_ds.EXPERIMENT, *ALL_LABELS)


def rows(report: Report, table: str) -> list[Mapping[str, Any]]:
    return [row for found in report.tables if found.name == table for row in found.rows]


def test_data_sets_are_those_of_the_paper(report: Report) -> None:
    found = rows(report, "sizes")
    assert len(found) == 3 * len(DATA_SETS)
    assert {row["difference"] for row in found} == {0.0}


def test_only_counted_labels_give_the_tasks_of_trec(plan: Plan) -> None:
    found = sizes(plan, "s_rel")
    assert found["tasks"] == 3_670
    assert found["by workers"] == 3_655
    assert 3_670 not in (found["no such labels"], found["no such gold"], found["neither"])


def test_likelihoods_where_all_labels_are_used(report: Report) -> None:
    """To the printed digit, but where ties of the first vote are broken at random: FDS."""
    differences = {
        (row["data"], row["method"]): row["difference"] for row in rows(report, "table-2")
    }
    for name in ("bm", "labelme", "rte"):
        assert differences[name, "DS"] == differences[name, "Hybrid"] == 0
    assert differences["bm", "FDS"] == 0
    for name in ("labelme", "rte"):
        assert abs(differences[name, "FDS"]) < 0.01 * PUBLISHED_LOSS[name][0]


@pytest.mark.parametrize(("name", "subsets"), [("adult2", 40), ("s_rel", 10), ("sp", 10)])
def test_likelihoods_of_random_subsets(plan: Plan, name: str, subsets: int) -> None:
    """adult2 has few tasks, so that its likelihoods differ most from subset to subset."""
    votes = prepared(name, plan)
    losses = []
    for seed in range(subsets):
        chosen = shuffled_ranks(votes.labels, np.random.default_rng(seed)) < annotators(name)
        labels = subset(votes, chosen).labels
        fits = [timed(method, labels, seed).result for method in LIKELIHOODS]
        losses.append([-fit.log_likelihood for fit in fits if fit.log_likelihood is not None])
    assert np.mean(losses, axis=0) == pytest.approx(PUBLISHED_LOSS[name], rel=0.01)


@pytest.mark.parametrize(
    "claim",
    [
        "FDS needs fewer iterations than DS on every data set.",
        "Hybrid needs fewer iterations than DS on every data set.",
        "On all labels too FDS and Hybrid need fewer iterations than DS, on every data set.",
        "The log-likelihood of Hybrid is better than that of FDS on every data set.",
        "The log-likelihood of Hybrid is close to that of DS: closer than to that of FDS.",
        "FDS is about as accurate as DS with all annotators: within 2 points on every data set.",
        "Hybrid is about as accurate as DS with all annotators: within 2 points on every data set.",
        "On rte FDS is significantly more accurate than the vote, with all annotators.",
        "On s_rel FDS is significantly more accurate than the vote, with all annotators.",
        "On sp FDS is significantly more accurate than the vote, with all annotators.",
        "On labelme FDS is less accurate than DS and Hybrid, with all annotators.",
        "With several right answers FDS is right more often than DS and Hybrid (options apart,"
        " a reader's skill the same for all).",
        "With several right answers FDS is right more often than DS and Hybrid (options apart,"
        " each with a skill of its own).",
        "With several right answers FDS needs the fewest iterations and DS the most.",
    ],
)
def test_claim_holds(report: Report, claim: str) -> None:
    holds = {found.text: found.holds for found in report.claims}
    assert holds[claim]


def test_figures_have_a_panel_for_each_data_set_and_glad_only_for_two_classes(
    report: Report,
) -> None:
    assert [figure.name for figure in report.figures] == [
        "figure-1-accuracy",
        "figure-1-time",
        "figure-1-iterations",
    ]
    for figure in report.figures:
        assert [panel.title for panel in figure.panels] == list(DATA_SETS)
        with_glad = {p.title for p in figure.panels if "GLAD" in {s.name for s in p.series}}
        assert with_glad == {"bm", "rte", "sp"}


@pytest.mark.parametrize("here", [(), ("web",), ("labelme",)])
def test_data_sets_may_be_absent(quick: QuickRun, here: tuple[str, ...]) -> None:
    plan = quick.plan(*here)
    found = offline.report(plan, quick.found(fast_ds.EXPERIMENT, plan, offline))
    assert {row["data"] for row in rows(found, "all-labels")} == set(here)
    assert {row["data"] for row in rows(found, "table-2")} == set(here) - {"web"}
    assert all(table.rows for table in found.tables)


def test_no_data_set(quick: QuickRun) -> None:
    found = quick.report(fast_ds.EXPERIMENT)
    assert [table.name for table in found.tables] == ["table-5"]
    assert not found.figures


def test_preparation_keeps_tasks_with_gold_and_enough_labels(plan: Plan) -> None:
    votes = prepared("adult2", plan)
    assert np.diff(votes.labels.indptr).min() >= 9
    assert (votes.truth >= 0).all()


def test_ranks_number_the_labels_of_each_task_at_random() -> None:
    labels = Labels.from_codes([0] * 50 + [1] * 2, [*list(range(50)), 0, 1], [0] * 52)
    one, other = (shuffled_ranks(labels, np.random.default_rng(seed)) for seed in (0, 1))
    assert sorted(one[:50]) == list(range(50))
    assert sorted(one[50:]) == [0, 1]
    assert (one != other).any()


def test_iterations_count_the_one_in_which_the_marginals_show_that_nothing_changed() -> None:
    """Everyone agrees, so that the first iteration of FDS changes nothing."""
    labels = Labels.from_codes([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 1, 1])
    fast = fitted("fast-dawid-skene", labels, stop="marginals", tol=1e-4)
    assert (len(fast.steps), iterations(fast)) == (1, 2)
    soft = fitted("dawid-skene", labels, stop="marginals", tol=1e-4)
    assert iterations(soft) == len(soft.steps) == 2


def test_costs_of_iterations_that_were_never_made_are_left_out() -> None:
    costs = [
        {"FDS": {"further": None}, "DS": {"further": 1.0}},
        {"FDS": {"further": 3.0}, "DS": {"further": 2.0}},
    ]
    assert _ratios(costs, "FDS", "DS") == [None, 1.5]
    assert _range([None, 1.5, 0.5]) == "0.5 to 1.5"
    assert _range([None]) == "an unknown number of"


def test_z_of_differences() -> None:
    assert paired_z(np.zeros(3)) == 0
    assert paired_z(np.array([1.0, 1.0, 1.0, 1.0])) == 2
    assert paired_z(np.array([-1.0, 0.0])) == -1


def test_options_together_and_apart_find_what_all_readers_agree_on() -> None:
    truth = np.array([[True, False], [False, False], [True, True]] * 4)
    asked = np.tile(np.arange(3), (len(truth), 1))
    yes = np.repeat(truth[:, None, :], 3, axis=1)
    for solve in (several.together, several.apart):
        for method in several.CONTESTANTS:
            assert (solve(method, asked, yes, seed=0).answers == truth).all()


def test_an_option_that_nobody_chose_is_wrong() -> None:
    asked = np.tile(np.arange(3), (4, 1))
    yes = np.zeros((4, 3, 2), dtype=bool)
    yes[::2, :, 0] = True
    assert (several.apart("FDS", asked, yes, seed=0).answers == yes[:, 0]).all()


def test_simulated_readers_are_better_than_chance() -> None:
    truth, chosen = several.simulated(np.random.default_rng(0), several.LONG)
    said = chosen.mean(axis=1)
    assert said[truth].mean() == pytest.approx(2 / 3, abs=0.1)
    assert said[~truth].mean() == pytest.approx(1 / 12, abs=0.05)


def test_online_on_sp_is_near_the_papers_table_4(data: Path) -> None:
    """Means over random subsets of the votes, which alone move a figure by half a point."""
    plan = Plan(data, frozenset(["sp"]))
    for n in online.ANNOTATORS:
        runs = [online.online(plan, "fast-dawid-skene", n, trial) for trial in range(8)]
        whole, arrived = (
            float(np.mean([run[which] for run in runs])) for which in ("offline", "online")
        )
        assert whole == pytest.approx(online.OFFLINE[n], abs=0.6)
        assert arrived == pytest.approx(online.ONLINE[n], abs=0.6)
    assert whole - arrived < 0.5
