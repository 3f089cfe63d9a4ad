"""Compare: scores against plain loops, what does not apply, and the command."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from scipy.stats import binomtest
from tests.naive import predict as naive

import quorate
from quorate import DawidSkene, Labels, Majority, UsageError, metrics
from quorate.cli import main
from quorate.comparison import mcnemar
from quorate.engines.threads import Threads
from quorate.heldout import hold_out, vote_log_likelihoods
from quorate.models import METHODS
from quorate.models.dirichlet import CROWD
from quorate.models.one_coin import one_coin_confusion


def crowd_votes(seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame, Labels]:
    """Ten good workers and ten guessers, with the truth."""
    accuracy = np.repeat([0.85, 0.5], 10)
    crowd = quorate.simulate(one_coin_confusion(accuracy, 2), 300, 5, seed=seed)
    task = np.repeat(np.arange(300), 5)
    votes = pl.DataFrame({"task": task, "worker": crowd.labels.worker, "label": crowd.labels.label})
    return votes, pl.DataFrame({"task": np.arange(300), "label": crowd.truth}), crowd.labels


@dataclass(frozen=True, eq=False)
class OnlyForTwins(Majority):
    """A method that does not apply."""

    def start(self, labels: Labels) -> None:
        raise UsageError("This method is for twins only.")


@dataclass(frozen=True, eq=False)
class Broken(Majority):
    def start(self, labels: Labels) -> None:
        raise ZeroDivisionError


def test_scores_by_known_answers() -> None:
    votes, gold, _ = crowd_votes()
    found = quorate.compare(votes, ["majority", "dawid-skene"], gold=gold)
    assert found.gold_tasks == 300
    for score in found.scores:
        result = quorate.aggregate(votes, method=score.method)
        truth = gold.sort("task")["label"].to_numpy()[result.codebook.tasks.to_numpy()]
        assert score.error == pytest.approx((result.answers != truth).mean())
        assert score.error_low < score.error < score.error_high
        assert score.iterations == result.iterations and score.converged
        assert score.seconds >= 0
    vote, model = found.scores
    assert vote.p_value == 1 and vote.gain == 0
    assert model.p_value < 0.05 and model.error < vote.error
    assert model.gain_low < model.gain < model.gain_high and model.gain > 0


def test_the_vote_of_rte_is_scored_by_the_labels_that_it_gives(data: Path) -> None:
    """The published 10.31 % shares the ties; the labels give each to the first class."""
    votes, gold = data / "rte" / "labels.csv", data / "rte" / "gold.csv"
    vote, model = quorate.compare(votes, ["majority", "dawid-skene"], gold=gold).scores
    result = quorate.aggregate(votes, "majority")
    labels = result.labels.join(pl.read_csv(gold), on="task")
    assert vote.error == pytest.approx((labels["label"] != labels["label_right"]).mean())
    truth = np.searchsorted(result.classes, labels["label_right"].to_numpy())
    assert 100 * metrics.error(result.posterior, truth) == pytest.approx(10.31, abs=0.01)
    assert model.gain_low > 0


BELIEFS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "discounted": {"discount": True},
    "not discounted": {"discount": False},
    "ordered": {"ordered": True},
    "in another order": {"ordered": [2, 0, 1], "discount": True},
}


def grades_and_duplicates() -> tuple[list[tuple[int, str, int]], dict[int, int]]:
    """Grades by four workers, and by six accounts of a bad one; with many ties."""
    random = np.random.default_rng(0)
    truth = random.integers(3, size=120)
    off = random.choice([-1, 0, 1], p=[0.15, 0.7, 0.15], size=(4, 120))
    panel = np.clip(truth + off, 0, 2)
    bad = np.where(random.random(120) < 0.45, truth, random.integers(3, size=120))
    panel = np.concatenate([panel, np.repeat(bad[None], 6, axis=0)])
    said = random.random(panel.shape) < 0.8
    votes = [(t, f"w{w}", int(panel[w, t])) for w in range(10) for t in range(120) if said[w, t]]
    return votes, dict(enumerate(truth.tolist()))


@pytest.mark.parametrize("options", BELIEFS.values(), ids=BELIEFS)
def test_what_is_scored_is_what_aggregate_returns(options: dict[str, Any]) -> None:
    votes, gold = grades_and_duplicates()
    methods = ["auto", "majority", "dawid-skene", "mace", "one-coin"]
    found = quorate.compare(votes, methods, gold=gold, **options)
    answers = []
    for score in found.scores:
        result = quorate.aggregate(votes, score.method, **options)
        labels = result.labels.sort("task")
        answers.append(labels["label"].to_numpy())
        right = np.array([label == gold[task] for task, label in labels["task", "label"].rows()])
        assert score.error == 1 - right.mean()
        rows = metrics.reliability_of(labels["confidence"].to_numpy(), right.astype(float))
        assert found.reliability[score.method] == rows
        assert score.calibration == metrics.calibration_error_of(rows)
        assert score.iterations == result.iterations
    same = [[(a == b).mean() for b in answers] for a in answers]
    assert found.agreement.tolist() == same


def test_the_options_change_what_is_scored() -> None:
    votes, gold = grades_and_duplicates()
    errors = {
        name: quorate.compare(votes, "auto", gold=gold, **options).scores[0].error
        for name, options in BELIEFS.items()
    }
    assert errors["as it is"] == errors["discounted"] < errors["not discounted"]
    assert errors["ordered"] != errors["in another order"]


def test_a_method_that_cannot_discount_says_so_in_its_row() -> None:
    votes, gold = grades_and_duplicates()
    vote, kos = quorate.compare(votes, ["majority", "kos"], gold=gold, discount=True).scores
    assert vote.reason is None and "kos cannot discount votes" in kos.reason
    assert any("correlated workers" in note for note in quorate.compare(votes, ["auto"]).notes)


def test_all_methods_by_default_and_the_same_on_any_number_of_threads() -> None:
    votes, gold, _ = crowd_votes()
    one, two = (quorate.compare(votes, gold=gold, threads=n) for n in (1, 3))
    assert [score.method for score in one.scores] == list(METHODS)
    timeless = [[replace(score, seconds=None) for score in c.scores] for c in (one, two)]
    assert timeless[0] == timeless[1]
    assert (one.agreement == two.agreement).all()


def test_agreement_is_the_share_of_same_answers() -> None:
    votes, _, _ = crowd_votes()
    found = quorate.compare(votes, ["majority", "one-coin", "dawid-skene"], held_out=0)
    answers = [quorate.aggregate(votes, method=m).answers for m in found.compared]
    for i, a in enumerate(answers):
        for j, b in enumerate(answers):
            assert found.agreement[i, j] == pytest.approx((a == b).mean())
    assert found.held_out_votes == 0
    assert all(score.predictive is None and score.error is None for score in found.scores)


def test_held_out_votes_are_at_most_one_of_a_task_with_two() -> None:
    random = np.random.default_rng(0)
    count = random.integers(0, 4, size=200)
    task = np.repeat(np.arange(200), count)
    worker, label = random.integers(9, size=len(task)), random.integers(3, size=len(task))
    labels = Labels.from_codes(task, worker, label, n_tasks=200, n_workers=9, n_classes=3)
    held_out = hold_out(labels, 0.2, seed=1)
    assert len(held_out.task) == round(0.2 * labels.n_labels)
    assert len(np.unique(held_out.task)) == len(held_out.task)
    assert (count[held_out.task] > 1).all()
    left = np.diff(held_out.left.indptr)
    assert (count - left == np.isin(np.arange(200), held_out.task)).all()
    for t, w, said in zip(held_out.task, held_out.worker, held_out.label, strict=True):
        before, after = labels[t : t + 1], held_out.left[t : t + 1]
        pairs = list(zip(before.worker, before.label, strict=True))
        pairs.remove((w, said))
        assert pairs == list(zip(after.worker, after.label, strict=True))
    assert len(hold_out(labels, 0.99, seed=1).task) == (count > 1).sum()
    again, other = hold_out(labels, 0.2, seed=1), hold_out(labels, 0.2, seed=2)
    assert (again.task == held_out.task).all() and (again.worker == held_out.worker).all()
    assert len(np.setdiff1d(other.task, held_out.task))


def test_the_likelihood_of_held_out_votes_as_the_loops_say() -> None:
    crowd = quorate.simulate(one_coin_confusion(np.array([0.9, 0.7, 0.6, 0.5]), 3), 30, 3, seed=0)
    held_out = hold_out(crowd.labels, 0.2, seed=0)
    left = held_out.left
    posterior = quorate.fit(DawidSkene(), left).posterior
    votes = [
        list(zip(left[t : t + 1].worker.tolist(), left[t : t + 1].label.tolist(), strict=True))
        for t in range(30)
    ]
    asked = list(
        zip(held_out.task.tolist(), held_out.worker.tolist(), held_out.label.tolist(), strict=True)
    )
    expected = naive.log_likelihoods(votes, asked, posterior.tolist(), 3, CROWD)
    assert vote_log_likelihoods(held_out, posterior, Threads(1)) == pytest.approx(
        expected, rel=1e-10
    )


def test_mcnemar_is_the_exact_test() -> None:
    random = np.random.default_rng(0)
    for _ in range(20):
        a, b = (random.choice([0.0, 0.5, 1.0], size=30) for _ in range(2))
        better, worse = int((a > b).sum()), int((a < b).sum())
        exact = binomtest(better, better + worse).pvalue
        assert mcnemar(a, b) == pytest.approx(exact)
    assert mcnemar(a, a) == 1


def test_a_method_that_does_not_apply_is_listed_with_its_reason() -> None:
    votes, gold, _ = crowd_votes()
    found = quorate.compare(votes, {"twins": OnlyForTwins(), "vote": Majority()}, gold=gold)
    twins, vote = found.scores
    assert twins.reason == "This method is for twins only."
    assert twins.error is None and vote.error is not None
    assert found.compared == ["vote"] and found.agreement.shape == (1, 1)
    assert found.table["reason"].to_list() == [twins.reason, None]


def test_names_and_models_are_told_apart() -> None:
    votes, _, _ = crowd_votes()
    smooth, smoother = DawidSkene(smoothing=0.1), DawidSkene(smoothing=1.0)
    found = quorate.compare(votes, ["majority", smooth, smoother, "majority"], held_out=0)
    assert found.compared == ["majority", "dawid-skene", "dawid-skene (2)"]
    named = quorate.compare(votes, {"vote": "majority", "smooth": smooth}, held_out=0)
    assert named.compared == ["vote", "smooth"]
    assert named.agreement[0, 1] == found.agreement[0, 1]
    assert quorate.compare(votes, "one-coin", held_out=0).compared == ["one-coin"]
    assert quorate.compare(votes, smooth, held_out=0).compared == ["dawid-skene"]


def test_options_by_name_are_turned_into_codes() -> None:
    votes = [(t, w, "yes" if (t + w) % 3 else "no") for t in range(9) for w in range(4)]
    prior = DawidSkene(prior={"yes": 0.9, "no": 0.1}, smoothing=0.1)
    found = quorate.compare(votes, {"mine": prior, "wrong": DawidSkene(prior={"maybe": 1.0})})
    assert found.compared == ["mine"]
    assert "prior needs a share" in found.scores[1].reason


def vote_of(labels: Labels) -> np.ndarray:
    return labels.vote_shares()


def wrong_shape(labels: Labels) -> np.ndarray:
    return np.ones(3)


def crashing(labels: Labels) -> np.ndarray:
    return {"a": 1}["b"]


def test_a_function_is_a_method() -> None:
    votes, gold, _ = crowd_votes()
    found = quorate.compare(votes, [vote_of, "majority"], gold=gold)
    mine, vote = found.scores
    assert mine.method == "vote_of" and found.compared == ["vote_of", "majority"]
    assert (mine.error, mine.predictive, mine.gain) == (vote.error, vote.predictive, 0)
    posteriors = [quorate.aggregate(votes, method).posterior for method in (vote_of, "majority")]
    assert (posteriors[0] == posteriors[1]).all()


@pytest.mark.parametrize("function", [wrong_shape, crashing, lambda labels: "nothing"])
def test_a_bad_function_is_one_sentence_in_its_reason(function: Any) -> None:
    votes, _, _ = crowd_votes()
    bad, vote = quorate.compare(votes, {"bad": function, "vote": "majority"}).scores
    assert bad.reason and bad.reason.endswith(".") and "\n" not in bad.reason
    assert bad.predictive is None and vote.predictive is not None


def test_a_comparison_is_shown_as_a_small_table() -> None:
    votes, gold, _ = crowd_votes()
    methods = {"twins": OnlyForTwins(), "vote": "majority"}
    head, names, twins, vote = repr(quorate.compare(votes, methods, gold=gold)).splitlines()
    assert head == "Comparison of 2 methods on 300 tasks, 300 known answers, 150 held-out votes"
    assert names.split() == ["method", "error", "calibration", "gain", "seconds"]
    assert twins.split(maxsplit=1) == ["twins", "This method is for twins only."]
    error = quorate.compare(votes, "majority", gold=gold).scores[0].error
    assert vote.split()[:2] == ["vote", f"{error:.1%}"]
    alone = repr(quorate.compare(votes, {"twins": OnlyForTwins()}))
    assert alone.splitlines()[-1].endswith("This method is for twins only.")


def test_a_comparison_that_is_interrupted_stops() -> None:
    """Long before the methods that are running would have come to their end."""

    def interrupt(*step: Any) -> None:
        raise KeyboardInterrupt

    crowd = quorate.simulate(40, 4_000, 5, n_classes=4, seed=0)
    endless = DawidSkene(max_iter=10**9, tol=0.0)
    began = time.process_time()
    with pytest.raises(KeyboardInterrupt):
        quorate.compare(crowd.votes, {"endless": endless}, progress=interrupt, threads=1)
    assert time.process_time() - began < 20


def test_a_misspelt_option_is_refused() -> None:
    votes, _, _ = crowd_votes()
    with pytest.raises(UsageError, match="did you mean 'held_out'"):
        quorate.compare(votes, ["majority"], heldout=0.2)


def test_a_fault_is_not_a_reason() -> None:
    with pytest.raises(ZeroDivisionError):
        quorate.compare(crowd_votes()[0], {"broken": Broken()})


def test_wrong_calls_are_one_sentence() -> None:
    votes, _, _ = crowd_votes()
    with pytest.raises(UsageError, match="no method 'nonsense'"):
        quorate.compare(votes, ["nonsense"])
    with pytest.raises(UsageError, match="held_out"):
        quorate.compare(votes, held_out=1.0)
    with pytest.raises(quorate.DataError, match="names agree"):
        quorate.compare(votes, gold={-5: 1})


def test_gold_that_nobody_voted_for_is_never_found() -> None:
    votes = [(t, w, t % 2) for t in range(10) for w in range(3)]
    gold = {0: 0, 1: 1, 2: 7, 99: 0}
    found = quorate.compare(votes, ["majority"], gold=gold)
    assert found.scores[0].error == pytest.approx(1 / 3)
    assert any("nobody voted for" in note for note in found.notes)
    assert any("1 of 4 gold answers" in note for note in found.notes)


def test_votes_with_nothing_to_hold_out() -> None:
    found = quorate.compare([("a", "x", 1), ("b", "y", 0)], ["majority"])
    assert found.scores[0].predictive is None
    assert found.notes[0] == "No vote could be held out: no task has two."


def test_progress_counts_methods() -> None:
    seen: list[tuple[str, float, float | None, str]] = []
    votes, _, _ = crowd_votes()
    quorate.compare(
        votes, ["majority", "one-coin"], progress=lambda *step: seen.append(step), threads=2
    )
    assert seen == sorted(seen, key=lambda step: step[1])
    assert seen[-1] == ("comparing methods", 2, 2, "")


def test_tables_come_back_in_kind() -> None:
    pd = pytest.importorskip("pandas")
    votes, _, _ = crowd_votes()
    frame = pd.DataFrame(votes.to_dict(as_series=False))
    assert isinstance(quorate.compare(frame, ["majority"]).table, pd.DataFrame)


def invoke(*given: Any) -> Any:
    return CliRunner().invoke(main, list(map(str, given)))


def test_the_command(tmp_path: Path) -> None:
    votes, gold, _ = crowd_votes()
    files = [tmp_path / name for name in ("votes.csv", "gold.csv", "table.csv")]
    votes.write_csv(files[0])
    gold.write_csv(files[1])
    two = ("-m", "majority", "-m", "dawid-skene")
    shown = invoke("compare", files[0], "--gold", files[1], *two, "-o", files[2])
    assert shown.exit_code == 0, shown.output
    for words in ("300 with a known answer", "150 held-out votes", "error", "gain", "same, in %"):
        assert words in shown.output
    assert shown.output.index("dawid-skene") < shown.output.index("majority")  # the best first
    assert pl.read_csv(files[2])["method"].to_list() == ["majority", "dawid-skene"]
    found = json.loads(invoke("compare", files[0], *two, "--held-out", 0.2, "--json").output)
    assert found["held_out_votes"] == 300 and found["gold_tasks"] == 0
    assert found["compared"] == ["majority", "dawid-skene"]
    assert invoke("compare", files[0], "-m", "nonsense").exit_code == 2
    assert invoke("compare", files[0], "-o", tmp_path / "table.xyz").exit_code == 2
    table = invoke("compare", files[0], *two, "-o", "-")
    assert "method,error" in table.output


def test_gold_may_have_the_column_names_of_the_votes(tmp_path: Path) -> None:
    votes, gold = tmp_path / "votes.csv", tmp_path / "gold.csv"
    rows = "".join(f"{task},{worker},{task % 2}\n" for task in range(9) for worker in "abc")
    votes.write_text("which,who,grade\n" + rows)
    gold.write_text("which,grade\n" + "".join(f"{t},{t % 2}\n" for t in range(9)))
    columns = {"task_column": "which", "worker_column": "who", "label_column": "grade"}
    found = quorate.compare(votes, ["majority"], gold=gold, **columns)
    assert (found.gold_tasks, found.scores[0].error) == (9, 0.0)
