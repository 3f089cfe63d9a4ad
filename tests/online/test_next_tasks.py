"""Which tasks an `Online` would have votes on next."""

from __future__ import annotations

import numpy as np
import pytest
from tests.online.test_online import METHODS, crowd_votes

from quorate import Online, UsageError
from quorate.assignment.gain import errors_ahead, worth
from quorate.kernels import entropy
from quorate.online.next_tasks import most_valuable


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("n", [1, 10, 6_000])
def test_few_are_looked_at_and_the_best_found_but_for_rounding(n_classes: int, n: int) -> None:
    random = np.random.default_rng(n_classes)
    posterior = random.dirichlet(np.full(n_classes, 0.3), 20_000)
    average = np.full((n_classes, n_classes), 0.2 / (n_classes - 1))
    np.fill_diagonal(average, 0.8)
    gain = worth(errors_ahead(posterior, average)) + 1e-6 * entropy(posterior)
    found = most_valuable(posterior, average, n)
    assert len(set(found.tolist())) == n
    np.testing.assert_allclose(gain[found], np.sort(gain)[::-1][:n], atol=4e-3)


@pytest.mark.parametrize("method", METHODS)
def test_open_tasks_come_first(method: str) -> None:
    votes, _ = crowd_votes()
    online = Online(method, smoothing=1.0)
    online.add(votes)
    online.add([("open", "w0", "a"), ("open", "w1", "b")])
    chosen = online.next_tasks(20)
    assert len(set(chosen)) == 20
    unsure = [online.label(f"t{i}").confidence for i in range(300) if f"t{i}" not in chosen]
    assert np.mean([online.label(task).confidence for task in chosen]) < np.mean(unsure)
    online.settle()
    assert len(online.next_tasks(20)) == 20


def test_not_what_is_known_or_answered() -> None:
    online = Online("dawid-skene", smoothing=1.0, gold={"t1": "a", "t9": "b"})
    online.add([("t0", "ann", "a"), ("t1", "ann", "a"), ("t2", "bob", "b"), ("t3", "bob", "a")])
    assert sorted(online.next_tasks()) == ["t0", "t2", "t3"]
    assert sorted(online.next_tasks(worker="ann")) == ["t2", "t3"]
    assert sorted(online.next_tasks(worker="new")) == ["t0", "t2", "t3"]
    assert len(online.next_tasks(1)) == 1
    online.remove_gold("t1")
    assert "t1" in online.next_tasks() and "t1" not in online.next_tasks(worker="ann")
    assert Online().next_tasks() == []
    with pytest.raises(UsageError, match="n"):
        online.next_tasks(0)


@pytest.mark.parametrize("method", METHODS)
def test_votes_that_come_between_change_what_is_next(method: str) -> None:
    """What is kept of the last time is what one gets that is asked first."""
    votes, _ = crowd_votes(200)
    online = Online(method, smoothing=1.0)
    online.add(votes)
    (first,) = online.next_tasks(1)
    for worker in range(4):
        online.add((first, f"late-{worker}", "a"))
    assert online.next_tasks(1) != [first]
    online.add([("new", "w0", "a"), ("new", "w1", "b")])
    assert "new" in online.next_tasks(200)
    for worker in range(4):
        online.remove(first, f"late-{worker}")
    fresh = Online(method, smoothing=1.0)
    fresh.add(votes)
    fresh.add([("new", "w0", "a"), ("new", "w1", "b")])
    assert online.next_tasks(20) == fresh.next_tasks(20)
