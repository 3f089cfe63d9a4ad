"""Options declared in their fields, methods found by name, and functions as methods."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest
from tests.checks import small_blocks

import quorate
from quorate import DawidSkene, Labels, Majority, OneCoin, Ordered, UsageError, fit
from quorate.models import METHODS, MODELS, Given, Spectral, make, method_name, method_named, named
from quorate.options import Options, option, options_of
from quorate.votes import MemoryBlocks

LABELS = Labels.from_codes([0, 0, 0, 1, 1], [0, 1, 2, 0, 1], [0, 0, 1, 1, 1])


@dataclass(frozen=True, eq=False)
class Every(Options):
    """One option of each kind."""

    whole: int = option(3, "A number.", at_least=1)
    positive: float = option(1.0, "Above a bound.", above=0)
    share: float = option(0.5, "Between bounds.", at_least=0, at_most=1)
    word: Literal["one", "other"] = option("one", "A word.")
    either: float | Literal["auto"] = option("auto", "A number or a word.", at_least=0)
    maybe: float | None = option(None, "A number or nothing.", at_least=0)
    pair: tuple[float, float] = option((1.0, 2.0), "Two.", at_least=(0, 1), parts=("a", "b"))
    anything: Any = option(None, "Whatever it is.")
    beside: float = option(0.1, "Of the other word.", at_least=0, only_with={"word": "other"})


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"whole": 0}, "whole must be a number of at least 1, not 0."),
        ({"whole": None}, "whole must be a number of at least 1, not None."),
        ({"positive": 0}, "positive must be a number above 0, not 0."),
        ({"positive": float("nan")}, "positive must be a number above 0, not nan."),
        ({"share": 1.5}, "share must be a number from 0 to 1, not 1.5."),
        ({"word": "third"}, "word is one of one, other, not 'third'."),
        ({"either": "none"}, "either is a number or auto, not 'none'."),
        ({"either": -1}, "either must be a number of at least 0, not -1."),
        ({"maybe": "x"}, "maybe must be a number of at least 0, not 'x'."),
        ({"pair": (1,)}, "pair is the two numbers a and b, not (1,)."),
        ({"pair": (0, 0.5)}, "pair must be a number of at least 1, not 0.5."),
        ({"beside": 0.2}, "beside has an effect only where word is other: leave it out."),
    ],
)
def test_a_value_out_of_range_is_one_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        Every(**given)
    assert str(caught.value) == sentence


def test_values_in_range_are_taken() -> None:
    made = Every(either=0.5, maybe=2, pair=[0, 1], anything=np.ones(3), word="other", beside=0.2)
    assert made.either == 0.5 and made.beside == 0.2


def test_what_an_option_is_comes_from_its_field() -> None:
    smoothing = options_of(DawidSkene)["smoothing"]
    assert (smoothing.default, smoothing.at_least, smoothing.is_number) == (0.0, 0, True)
    assert smoothing.doc.startswith("Pseudo-count added to every count")
    assert options_of(DawidSkene)["zeros"].choices == ("exclude", "skip")
    assert options_of(OneCoin)["beta"].optional


@pytest.mark.parametrize("name", METHODS)
def test_every_option_of_every_method_is_documented_and_its_default_allowed(name: str) -> None:
    for each in METHODS[name].options.values():
        assert re.fullmatch(r"[^\n]+\.", each.doc), each.name
        each.check(each.default)
    assert method_name(make(name)) == make(name).name == name


def test_an_option_belongs_only_to_methods_that_heed_it() -> None:
    having = {
        name: {m for m in METHODS if name in METHODS[m].options} for name in ("switch_at", "floor")
    }
    assert having == {"switch_at": {"hybrid"}, "floor": {"spectral"}}
    assert "harden" not in {option for method in METHODS.values() for option in method.options}
    for word in ("smoothing", "zeros", "harden"):
        assert word not in options_of(MODELS["MACE"])


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Dawid_Skene", "dawid-skene"),
        ("DS", "dawid-skene"),
        ("fast dawid skene", "fast-dawid-skene"),
        ("glda", "glad"),
    ],
)
def test_a_misspelt_method_is_told_what_was_meant(name: str, meant: str) -> None:
    with pytest.raises(UsageError) as caught:
        method_named(name)
    start = f"There is no method {name!r} (did you mean {meant}?): the methods are auto, "
    assert str(caught.value).startswith(start)


def test_an_option_of_another_method_is_told_whose_it_is() -> None:
    with pytest.raises(UsageError, match=r"^auto has no option 'beta': .*; one-coin has it\.$"):
        make("auto", beta=(1, 2))
    with pytest.raises(
        UsageError, match=r"^one-coin has no option 'bta' \(did you mean beta\?\): "
    ):
        make("one-coin", bta=(1, 2))
    with pytest.raises(UsageError, match=r"^majority has no option 'tol'"):
        named(Majority(), tol=1.0)


def test_a_method_is_a_name_a_model_or_a_function() -> None:
    assert isinstance(named("one-coin", seed=3), OneCoin)
    model = DawidSkene(smoothing=0.1)
    assert named(model) is model and named(model, tol=0.5).smoothing == 0.1
    assert isinstance(named(DawidSkene), DawidSkene)
    assert named(Labels.vote_shares).name == "vote_shares"
    with pytest.raises(UsageError, match="a name, a model or a function, not 3"):
        named(3)  # type: ignore[arg-type]


def test_names_of_models() -> None:
    assert DawidSkene(harden="always").name == "fast-dawid-skene"
    assert DawidSkene(init=Spectral(), worker_prior=np.ones((3, 2, 2))).name == "dawid-skene"
    assert Ordered(make("kos")).name == "kos, ordered"


def test_a_function_is_a_method() -> None:
    result = fit(Given(Labels.vote_shares), LABELS)
    vote = fit(Majority(), LABELS)
    np.testing.assert_array_equal(result.posterior, vote.posterior)
    np.testing.assert_array_equal(result.tally, vote.tally)
    assert result.objective == vote.objective and result.converged


def test_a_function_sees_all_votes_at_once() -> None:
    seen = []

    def even(labels: Labels) -> Any:
        seen.append(labels.n_tasks)
        return np.full((labels.n_tasks, labels.n_classes), 0.5)

    with small_blocks(2):
        assert len(MemoryBlocks(LABELS)) == 2
        fit(Given(even), LABELS)
    assert seen == [2]


@pytest.mark.parametrize(
    ("posterior", "words"),
    [
        (np.ones((2, 3)) / 3, r"bad returned an array of the shape \(2, 3\); these votes need"),
        (np.array([[1.0, 0.0], [np.nan, 1.0]]), "negative, or not a number"),
        (np.array([[1.5, -0.5], [0.0, 1.0]]), "negative, or not a number"),
        (np.array([[1.0, 1.0], [0.0, 1.0]]), "do not sum to 1"),
        ("nonsense", "has to return an array of numbers"),
    ],
)
def test_a_function_that_returns_no_posterior_is_refused(posterior: Any, words: str) -> None:
    def bad(labels: Labels) -> Any:
        return posterior

    with pytest.raises(UsageError, match=words):
        fit(Given(bad), LABELS)


def test_a_function_has_no_thresholds() -> None:
    with pytest.raises(UsageError, match="vote_shares is a function: ordered is for models"):
        Ordered(Given(Labels.vote_shares))


def test_a_model_does_not_predict() -> None:
    with pytest.raises(
        UsageError, match=r"^OneCoin holds options, not what was learned: fit\(votes\)"
    ):
        quorate.OneCoin().predict([("t", "w", "a")])


@pytest.mark.parametrize("given", [{"prior": "flat"}, {"init": "votes"}])
def test_a_word_that_is_not_known_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=f"^{next(iter(given))} is "):
        DawidSkene(**given)


def test_names_and_files_are_taken_where_they_are_read_later() -> None:
    model = DawidSkene(prior="yes=0.7,no=0.3", init="start.csv", worker_prior={"ann": 1})
    with pytest.raises(
        UsageError, match="prior needs a share of at least 0 for each of the 2 classes"
    ):
        fit(model, LABELS)
