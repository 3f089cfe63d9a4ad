"""Where the next vote goes: the best are found without looking at all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.online import Online
from quorate.service import ranking
from quorate.service.ranking import Front, Ranking
from quorate.service.settings import Settings

VALUES = st.sampled_from([-np.inf, 0.0, 0.1, 0.2, 0.5, 1.0])
CHANGES = st.lists(st.tuples(st.integers(0, 39), VALUES), max_size=30)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is for many tasks is tried with few."""
    monkeypatch.setattr(ranking, "FRONT", 6)
    monkeypatch.setattr(ranking, "AT_ONCE", 3)
    monkeypatch.setattr(ranking, "CANDIDATES", 4)


@given(
    st.lists(VALUES, min_size=40, max_size=40),
    st.lists(st.tuples(CHANGES, st.integers(1, 5), st.sets(st.integers(0, 39), max_size=9))),
)
def test_the_front_has_the_best(first: list[float], rounds: list[tuple[list, int, set]]) -> None:
    value, front = np.array(first), Front()
    front.take(np.arange(40), value)
    for changes, n, but in rounds:
        for task, new in changes:
            value[task] = new
            front.take(np.array([task]), value)
        found = front.best(value, n, sorted(but))
        left = np.sort(np.delete(value, sorted(but)))[::-1]
        expected = left[np.isfinite(left)][:n]
        assert sorted(value[found], reverse=True) == expected.tolist()
        assert not set(found.tolist()) & but


def ranked(votes: list[tuple[str, str, str]], tasks: int) -> tuple[Online, Ranking]:
    online = Online(classes=["a", "b"])
    online.ledger.names["task"].learn(f"t{i}" for i in range(tasks))
    if votes:
        online.add(votes)
    order = Ranking(Settings(classes=("a", "b"), target_confidence=0.99))
    order.grow(tasks)
    return online, order


def test_what_was_believed_before_is_not_handed_out() -> None:
    online, order = ranked([(f"t{i}", "w", "a") for i in range(12)], 12)
    assert len(order.best_for(online.ledger, None, [], 12)) == 12
    for worker in "abcdefgh":
        online.add([(f"t{i}", worker, "a") for i in range(11)])
    order.touch_all()
    assert order.best_for(online.ledger, None, [], 3) == [11]


def test_looking_at_a_few_at_a_time_ends_where_looking_at_all_does() -> None:
    votes = [(f"t{i}", f"w{j}", "ab"[(i + j) % 3 == 0]) for i in range(20) for j in range(i % 4)]
    online, order = ranked(votes, 25)
    order.standing(online.ledger)
    online.add([(f"t{i}", "new", "ab"[i % 2]) for i in range(25)])  # the crowd is another
    order.touch([3, 24])
    looks = 1
    while order.look_further(online.ledger):
        looks += 1
    assert looks > 5
    _, anew = ranked([], 25)
    anew.standing(online.ledger)
    assert order._value.tolist() == anew._value.tolist()
    assert order._posterior.tolist() == anew._posterior.tolist()


def test_a_task_that_is_passed_on_is_worth_as_much_as_if_it_were_looked_at_anew() -> None:
    votes = [(f"t{i}", f"w{j}", "ab"[(i + j) % 3 == 0]) for i in range(20) for j in range(i % 4)]
    online, order = ranked(votes, 25)
    order.standing(online.ledger)
    first = order.best_for(online.ledger, None, [], 1)
    for task, more in ((first[0], 1), (7, 1), (7, 1), (24, 1), (24, -1)):
        order.lease(task, more)
    order.touch([7])
    assert order.best_for(online.ledger, None, [], 1) != first
    _, anew = ranked([], 25)
    anew._leased.values[:] = order._leased.values
    anew.standing(online.ledger)
    assert order._value.tolist() == anew._value.tolist()


def test_the_average_worker_is_no_better_than_people_agree() -> None:
    guesses = np.random.default_rng(0).integers(0, 2, (400, 2))
    votes = [(f"t{i}", f"w{(i + j) % 20}", "ab"[guesses[i, j]]) for i in range(400) for j in (0, 1)]
    online, _ = ranked(votes, 400)
    believed = online.ledger.state.sums.average()
    average = ranking._average(online.ledger)
    assert np.diag(believed).mean() > 0.65
    assert 0.5 <= np.diag(average).mean() < 0.6
    assert average.sum(axis=1) == pytest.approx(1)
