"""Small crowds as pandas frames, and the same votes in codes for the oracles."""

from __future__ import annotations

import numpy as np
import pandas as pd
from tests.naive.majority import Votes

ROLES = ["task", "worker", "label"]

# Six questions whose answers are yes and no in turn: ann is always right, bob, cid and dee err.
SAID = {
    "p1": {"ann": "yes", "bob": "yes", "cid": "yes", "dee": "no"},
    "p2": {"ann": "no", "bob": "no", "cid": "yes", "dee": "no"},
    "p3": {"ann": "yes", "bob": "yes", "cid": "yes", "dee": "yes"},
    "p4": {"ann": "no", "bob": "no", "cid": "no", "dee": "yes"},
    "p5": {"ann": "yes", "bob": "no", "cid": "yes", "dee": "yes"},
    "p6": {"ann": "no", "cid": "no", "dee": "no"},
}
TRUTH = pd.Series(["yes", "no"] * 3, index=pd.Index(list(SAID), name="task"), name="agg_label")


def quiz() -> pd.DataFrame:
    """The six questions, row by row of the table above."""
    rows = [(task, who, label) for task, said in SAID.items() for who, label in said.items()]
    return pd.DataFrame(rows, columns=ROLES)


def simulated(
    n_classes: int, seed: int, n_tasks: int = 60, n_workers: int = 9, per_task: int = 5
) -> tuple[pd.DataFrame, pd.Series]:
    """Votes in a random order by workers who are right from 55 to 95 % of the time, and truths."""
    random = np.random.default_rng(seed)
    truth = random.integers(n_classes, size=n_tasks)
    accuracy = random.uniform(0.55, 0.95, n_workers)
    worker = random.permuted(np.tile(np.arange(n_workers), (n_tasks, 1)), axis=1)[:, :per_task]
    wrong = (truth[:, None] + random.integers(1, n_classes, worker.shape)) % n_classes
    label = np.where(random.random(worker.shape) < accuracy[worker], truth[:, None], wrong)
    names = np.array(list("bca")[:n_classes])
    votes = pd.DataFrame(
        {
            "task": [f"t{task}" for task in np.repeat(np.arange(n_tasks), per_task)],
            "worker": [f"w{code}" for code in worker.ravel()],
            "label": names[label.ravel()],
        }
    )
    truths = pd.Series(names[truth], pd.Index([f"t{task}" for task in range(n_tasks)], name="task"))
    return votes.sample(frac=1, random_state=seed, ignore_index=True), truths


def in_codes(
    data: pd.DataFrame, *, in_order: bool = False
) -> tuple[Votes, list[str], list[str], list[str]]:
    """The labels of each task as (worker, label) in codes, and the names of tasks, workers and
    labels, as they first appear or in order."""
    names = [list(dict.fromkeys(data[role])) for role in ROLES]
    if in_order:
        names = [sorted(each) for each in names]
    tasks, workers, classes = names
    votes: Votes = [[] for _ in tasks]
    for task, worker, label in data[ROLES].itertuples(index=False):
        votes[tasks.index(task)].append((workers.index(worker), classes.index(label)))
    return votes, tasks, workers, classes
