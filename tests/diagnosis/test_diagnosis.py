"""Diagnose: the graph against plain loops, the guilty found, the innocent left alone."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from rich.console import Console
from tests.naive import worker_graph as naive

import quorate
from quorate import Labels, UsageError
from quorate.cli import main
from quorate.diagnosis import graph, theory, workers
from quorate.engines.threads import Threads
from quorate.models.one_coin import one_coin_confusion
from quorate.report.diagnosis import show_diagnosis
from quorate.simulation.assignment import teams_of
from quorate.trust.correlated import pairs


def frame(labels: Labels, names: str = "w") -> pl.DataFrame:
    task = np.repeat(np.arange(labels.n_tasks), np.diff(labels.indptr))
    return pl.DataFrame(
        {"task": task, "worker": [f"{names}{w}" for w in labels.worker], "label": labels.label}
    )


def on_graph(name: str, n_workers: int, per_edge: int = 3) -> pl.DataFrame:
    """Figure 2 of the rank-one paper: each task has the two workers of an edge."""
    crowd = quorate.simulate(n_workers, n_workers * per_edge, assignment=name)
    return frame(crowd.labels)


def names_of(found: quorate.Diagnosis, finding: str) -> list[object]:
    return next((f.workers.to_list() for f in found.findings if f.name == finding), [])


# The graph.


@pytest.mark.parametrize("n_workers", [4, 11, 12, 13])
def test_an_even_ring_is_not_identifiable_and_an_odd_one_is(n_workers: int) -> None:
    found = quorate.diagnose(on_graph("ring", n_workers))
    if n_workers % 2:
        assert found.graph.not_identifiable == ()
        assert found.graph.eigenvalue > 0.01
    else:
        everybody = {f"w{w}" for w in range(n_workers)}
        assert [set(group) for group in found.graph.not_identifiable] == [everybody]
        assert found.findings[0].name == "not identifiable"
        assert found.findings[0].level == "problem"
        assert set(names_of(found, "not identifiable")) == everybody
        assert found.graph.eigenvalue is None


def test_the_papers_star_and_clique_are_identifiable() -> None:
    for name in ("star", "clique"):
        assert quorate.diagnose(on_graph(name, 11)).graph.not_identifiable == ()
    edges = [edge for edge in teams_of("star", 11) if 0 in edge]
    tree = [(t, w, t % 2) for t, edge in enumerate(edges) for w in edge]
    assert len(quorate.diagnose(tree).graph.not_identifiable[0]) == 11


def test_a_known_answer_makes_an_even_ring_identifiable() -> None:
    assert quorate.diagnose(on_graph("ring", 12), gold={0: 1}).graph.not_identifiable == ()


def random_labels(seed: int) -> Labels:
    random = np.random.default_rng(seed)
    n_tasks, n_workers = 14, 12
    task = np.repeat(np.arange(n_tasks), random.integers(0, 4, size=n_tasks))
    worker = random.integers(n_workers, size=len(task))
    label = random.integers(3, size=len(task))
    return Labels.from_codes(
        task, worker, label, n_tasks=n_tasks, n_workers=n_workers, n_classes=3
    ).without_repeats()


def as_lists(labels: Labels) -> list[list[tuple[int, int]]]:
    edges = labels.indptr
    return [
        list(zip(labels.worker[a:b].tolist(), labels.label[a:b].tolist(), strict=True))
        for a, b in pairwise(edges)
    ]


@pytest.mark.parametrize("seed", range(25))
def test_graph_and_pairs_as_the_loops_say(seed: int, monkeypatch) -> None:
    labels = random_labels(seed)
    votes = as_lists(labels)
    shared, alike = naive.together(votes, 12), naive.alike(votes, 12)
    expected = naive.components(shared)
    found = graph.worker_graph(labels)
    assert sorted(found.size) == sorted(len(members) for members, _ in expected)
    for members, bipartite in expected:
        (component,) = {found.component[w] for w in members}
        assert found.open[component] == (bipartite and len(members) > 1)
        assert all(found.alone[w] == (len(members) == 1) for w in members)
        assert all(found.told[w] == (not bipartite) for w in members)
    monkeypatch.setattr(pairs, "RUN", 5)
    runs, sampled = pairs.count_pairs(labels, seed=0)
    met = {
        tuple(sorted(pair[:2])): pair[2:]
        for run in runs
        for pair in zip(*(column.tolist() for column in run), strict=True)
    }
    assert not sampled
    assert met == {
        (i, j): (shared[i][j], alike[i][j]) for i, j in combinations(range(12), 2) if shared[i][j]
    }


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("iterate", [False, True])
def test_the_least_eigenvalue_is_that_of_the_dense_matrix(
    seed: int, iterate: bool, monkeypatch
) -> None:
    crowd = quorate.simulate(one_coin_confusion(np.full(40, 0.8), 2), 60, 3, seed=seed)
    dense = naive.signless_laplacian(naive.together(as_lists(crowd.labels), 40))
    found = graph.worker_graph(crowd.labels)
    told = np.flatnonzero(found.told)
    exact = np.linalg.eigvalsh(np.array(dense)[np.ix_(told, told)])[0]
    if iterate:
        monkeypatch.setattr(graph, "SMALL", 0)
    lowest = graph.smallest_eigenvalue(crowd.labels, found.told, seed=0)
    assert lowest.settled
    assert lowest.value == pytest.approx(exact, rel=0.02 if iterate else 1e-9)
    assert found.told[lowest.worker]


def test_an_eigenvalue_that_has_not_settled_says_so(monkeypatch) -> None:
    monkeypatch.setattr(graph, "SMALL", 0)
    monkeypatch.setattr(graph, "MOST_STEPS", 1)
    labels = quorate.read_votes(on_graph("ring", 201)).labels
    lowest = graph.smallest_eigenvalue(labels, np.ones(201, bool), seed=0)
    assert lowest.settled is False
    assert lowest.value > 0


def test_pairs_of_a_sample_when_there_are_too_many(monkeypatch) -> None:
    crowd = quorate.simulate(one_coin_confusion(np.full(30, 0.8), 2), 200, 6, seed=0)
    whole = quorate.diagnose(frame(crowd.labels)).graph
    monkeypatch.setattr(pairs, "MOST", 3000)
    monkeypatch.setattr(pairs, "RUN", 500)
    part = quorate.diagnose(frame(crowd.labels)).graph
    assert part.sampled and not whole.sampled
    assert 0 < part.pairs < whole.pairs
    assert part.shared_median == pytest.approx(whole.shared_median, abs=2)


def test_a_task_of_everybody_does_not_take_all_pairs(monkeypatch) -> None:
    """Five hundred workers on one task are 125,000 pairs: a few workers' are looked at."""
    monkeypatch.setattr(pairs, "MOST", 400)
    votes = [(t, w, (t + w) % 2) for w in range(500) for t in (0, 1 + w // 3)]
    found = quorate.diagnose(votes).graph
    assert found.sampled and found.components == 1
    assert 0 < found.pairs < 5000


def test_the_bound_holds_for_skills_from_many_tasks() -> None:
    """Theorem 3 on a clique of five: a bound that says something, and holds with room."""
    accuracy = np.array([0.95, 0.9, 0.9, 0.85, 0.95])
    crowd = quorate.simulate(one_coin_confusion(accuracy, 2), 200_000, 5, seed=0)
    found = quorate.diagnose(frame(crowd.labels))
    assert found.graph.shared_least == found.graph.shared_median == 200_000
    assert found.graph.skill_error < np.sqrt(5)
    skill = 2 * found.judgement.agreement - 1
    order = [int(name[1:]) for name in found.codebook.workers]
    assert np.linalg.norm(skill - (2 * accuracy - 1)[order]) < found.graph.skill_error


# What they know.


def test_the_spectral_papers_quantities() -> None:
    random = np.random.default_rng(1)
    labels = quorate.simulate(one_coin_confusion(np.full(7, 0.8), 3), 50, 4, seed=1).labels
    confusion = random.dirichlet(np.ones(3), size=(7, 3))
    prior = np.array([0.5, 0.3, 0.2])
    found = theory.knowledge(labels, confusion, prior)
    activity = [(labels.worker == i).sum() / 50 for i in range(7)]
    assert found.w_min == 0.2
    assert found.pi_min == min(activity)
    distances = [
        naive.kl_distance(confusion.tolist(), activity, a, b)
        for a in range(3)
        for b in range(3)
        if a != b
    ]
    assert found.d_bar == pytest.approx(min(distances), rel=1e-9)
    assert found.workers_least == pytest.approx(1 / (4 * min(distances)))
    groups = []
    for g in range(3):
        members = [i for i in range(7) if i % 3 == g]
        groups.append(sum(activity[i] * confusion[i].T for i in members) / len(members))
    off = [(truth, label) for truth in range(3) for label in range(3) if truth != label]
    kappa = min(c[truth, truth] - c[label, truth] for c in groups for truth, label in off)
    assert found.kappa == pytest.approx(kappa, rel=1e-9)
    singular = [
        np.linalg.svd(groups[a] @ np.diag(prior) @ groups[b].T, compute_uv=False)[-1]
        for a, b in combinations(range(3), 2)
    ]
    assert found.sigma_l == pytest.approx(min(singular), rel=1e-6)


def test_a_crowd_that_says_too_little_is_told_so() -> None:
    crowd = quorate.simulate(one_coin_confusion(np.full(300, 0.53), 2), 3000, 2, seed=0)
    confusion = one_coin_confusion(np.full(300, 0.53), 2)
    known = theory.knowledge(crowd.labels, confusion, np.array([0.5, 0.5]))
    assert known.labels_least > 2
    assert known.labels_enough > known.labels_least


# The workers.


def mixed_crowd(seed: int) -> pl.DataFrame:
    """Workers 0 to 29 are honest, 30 to 35 guess, 36 says always the same, 37 to 39 are inverted,
    and 1 copies nine in ten labels of 0."""
    random = np.random.default_rng(seed)
    accuracy = np.concatenate([random.uniform(0.6, 0.9, 30), np.full(7, 1 / 3), np.full(3, 0.05)])
    confusion = one_coin_confusion(accuracy, 3)
    confusion[36] = [0, 1, 0]
    confusion[:2] = one_coin_confusion(np.array([0.65, 0.65]), 3)
    votes = frame(quorate.simulate(confusion, 3000, 8, seed=seed).labels)
    theirs = votes.filter(pl.col("worker") == "w0").select("task", theirs="label")
    copied = (pl.col("worker") == "w1") & pl.col("theirs").is_not_null()
    copied &= pl.Series(random.random(len(votes)) < 0.9)
    label = pl.when(copied).then("theirs").otherwise("label").alias("label")
    return votes.join(theirs, on="task", how="left", maintain_order="left").select(
        "task", "worker", label
    )


@pytest.mark.parametrize("seed", range(4))
def test_the_guilty_are_found_and_nobody_else(seed: int) -> None:
    found = quorate.diagnose(mixed_crowd(seed))
    assert sorted(names_of(found, "spammers")) == [f"w{i}" for i in range(30, 37)]
    assert sorted(names_of(found, "inverted")) == ["w37", "w38", "w39"]
    (pair,) = found.agreeing
    assert sorted(pair.workers) == ["w0", "w1"]
    assert pair.agreed > pair.expected * pair.shared
    assert 0.5 < pair.copied <= 1
    verdicts = dict(found.workers.select("worker", "verdict").iter_rows())
    assert verdicts["w36"] == "spammer" and verdicts["w37"] == "inverted"
    assert verdicts["w5"] == "fine"


def test_a_clean_crowd_is_not_accused() -> None:
    for seed in range(15):
        random = np.random.default_rng(seed)
        k, n = int(random.integers(2, 5)), int(random.integers(10, 120))
        accuracy = 1 / k + (1 - 1 / k) * random.uniform(0.35, 0.95, n)
        crowd = quorate.simulate(one_coin_confusion(accuracy, k), 1200, 5, seed=seed)
        found = quorate.diagnose(frame(crowd.labels))
        assert not {"spammers", "inverted", "unusual agreement"} & {
            f.name for f in found.findings
        }, seed


def test_tasks_that_are_hard_for_all_do_not_make_copiers() -> None:
    """On a fifth of the tasks everybody is likely to be wrong in the same way."""
    random = np.random.default_rng(0)
    labels = quorate.simulate(one_coin_confusion(np.full(30, 0.8), 3), 2000, 8, seed=0).labels
    label = labels.label.copy()
    task = np.repeat(np.arange(2000), 8)
    misled = (task < 400) & (random.random(len(task)) < 0.5)
    label[misled] = task[misled] % 3
    votes = frame(labels).with_columns(label=pl.Series(label))
    assert not quorate.diagnose(votes).agreeing


def test_workers_with_few_labels_are_not_judged() -> None:
    crowd = quorate.simulate(one_coin_confusion(np.full(10, 0.8), 2), 400, 5, seed=0)
    votes = frame(crowd.labels)
    rare = pl.DataFrame({"task": [0, 1, 2], "worker": ["rare"] * 3, "label": [0, 1, 0]})
    found = quorate.diagnose(pl.concat([votes, rare.cast(votes.schema)]))
    assert names_of(found, "too few labels") == ["rare"]
    assert found.workers.filter(pl.col("worker") == "rare")["verdict"].item() == "too few labels"


def test_the_truth_by_others_leaves_the_own_label_out() -> None:
    """With two workers, each one's truth is the other's label through the other's confusion."""
    labels = quorate.simulate(one_coin_confusion(np.array([0.9, 0.7]), 2), 200, 2, seed=0).labels
    result = quorate.fit(quorate.DawidSkene(smoothing=0.5, max_iter=3), labels)
    counts = workers.truth_by_others(labels, result, Threads(1))
    expected = np.zeros((2, 2, 2))
    prior, confusion = result.params.prior, result.confusion
    for said in as_lists(labels):
        for worker, label in said:
            ((other, theirs),) = [vote for vote in said if vote[0] != worker]
            belief = prior * confusion[other, :, theirs]
            expected[worker, label] += belief / belief.sum()
    assert counts == pytest.approx(expected, rel=1e-9)


def test_known_answers_judge_workers_who_are_alone() -> None:
    votes = [(t, f"w{t % 2}", t // 2 % 2 if t % 2 else 1 - t // 2 % 2) for t in range(120)]
    gold = {t: t // 2 % 2 for t in range(120)}
    assert {f.name for f in quorate.diagnose(votes).findings} >= {"alone", "one vote a task"}
    found = quorate.diagnose(votes, gold=gold)
    assert names_of(found, "inverted") == ["w0"]


# Edges.


@pytest.mark.parametrize(
    "votes",
    [
        [("a", "x", 1)],
        [("a", "x", 1), ("a", "y", 1)],
        [("a", "x", 1), ("b", "y", 0)],
        [("a", "x", 1), ("a", "x", 0)],
        [("a", "x", 1), ("a", "y", 0)],
        [(t, w, 1) for t in range(9) for w in range(4)],
        [(t, w, t % 3) for t in range(9) for w in range(4)],
        [(t, w, w % 2) for t in range(30) for w in range(6)],
    ],
)
def test_degenerate_votes_are_diagnosed(votes: list[tuple[object, object, int]]) -> None:
    found = quorate.diagnose(votes)
    assert found.findings
    assert json.dumps(found.as_dict(), allow_nan=False)
    show_diagnosis(found.as_dict(), Console(file=io.StringIO()))
    assert len(found.workers) == len({worker for _, worker, _ in votes})


def test_repeats_count_once() -> None:
    votes = frame(quorate.simulate(one_coin_confusion(np.full(8, 0.8), 2), 60, 4).labels)
    once = quorate.diagnose(votes)
    again = quorate.diagnose(pl.concat([votes, votes]))
    assert again.agreement == once.agreement
    assert again.graph == once.graph


def test_the_same_on_any_number_of_threads() -> None:
    votes = mixed_crowd(0)
    one, two = (quorate.diagnose(votes, threads=n).as_dict() for n in (1, 2))
    assert one == two


def test_the_published_spammers_of_rte_have_the_accuracy_of_a_coin(data: Path) -> None:
    votes = pl.read_csv(data / "rte" / "labels.csv", infer_schema=False)
    gold = pl.read_csv(data / "rte" / "gold.csv", infer_schema=False)
    found = quorate.diagnose(votes)
    spammers = names_of(found, "spammers")
    right = (
        votes.join(gold.rename({"label": "truth"}), on="task")
        .group_by("worker")
        .agg(right=(pl.col("label") == pl.col("truth")).mean(), labels=pl.len())
    )
    theirs = right.filter(pl.col("worker").is_in(spammers))
    assert len(theirs) == len(spammers) >= 3
    assert theirs["labels"].min() > 100
    assert theirs["right"].is_between(0.4, 0.6).all()


# How it is asked and answered.


def test_a_diagnosis_says_in_a_few_lines_what_was_found() -> None:
    found = quorate.diagnose(mixed_crowd(0))
    lines = repr(found).splitlines()
    assert lines[0] == "Diagnosis of 3,000 tasks, 40 workers, 24,000 labels"
    named = [line.split(":")[0].split(maxsplit=1) for line in lines[1:-1]]
    assert named == [[finding.level, finding.name] for finding in found.findings]
    assert all(len(line) <= 100 for line in lines)


def test_tables_come_back_in_kind_with_the_callers_names() -> None:
    pd = pytest.importorskip("pandas")
    votes = frame(quorate.simulate(8, 60, 4, seed=0).labels).rename({"worker": "annotator"})
    table = quorate.diagnose(votes.to_pandas()).workers
    assert isinstance(table, pd.DataFrame)
    assert list(table.columns[:2]) == ["annotator", "labels"]


def test_progress_goes_from_the_first_step_to_the_last() -> None:
    seen: list[tuple[str, float, float]] = []
    quorate.diagnose(mixed_crowd(0), progress=lambda *step: seen.append(step))
    assert [done for _, done, _ in seen] == [0, 1, 2, 3, 4]
    assert {total for *_, total in seen} == {4}


def test_what_is_said_of_gold_and_kinds_is_in_the_notes() -> None:
    votes = [(t, w, (t + (w == 0)) % 2) for t in range(20) for w in range(4)]
    found = quorate.diagnose(votes, gold={0: 0, 99: 1}, worker_kinds={0: "model"})
    assert any("1 of 2 gold answers" in note for note in found.notes)
    assert any("3 of 4 workers have no kind" in note for note in found.notes)


def test_a_misspelt_option_is_refused() -> None:
    with pytest.raises(UsageError, match="did you mean 'gold'"):
        quorate.diagnose([("a", "x", 1)], glod={})


# The command.


def test_the_command_prints_findings_json_and_workers(tmp_path: Path) -> None:
    mixed_crowd(0).write_csv(tmp_path / "votes.csv")
    pl.DataFrame({"task": [0], "label": [1]}).write_csv(tmp_path / "gold.csv")
    table = tmp_path / "workers.csv"
    given = ["diagnose", str(tmp_path / "votes.csv"), "--workers", str(table)]
    shown = CliRunner().invoke(main, given)
    assert shown.exit_code == 0, shown.output
    for words in ("Krippendorff's alpha", "spammers (warning)", "w0 and w1", "->"):
        assert words in shown.output
    assert pl.read_csv(table).columns[0] == "worker"
    gold = ["--gold", str(tmp_path / "gold.csv")]
    printed = CliRunner().invoke(main, [*given[:2], *gold, "--json", "--seed", "3"])
    found = json.loads(printed.output)
    assert {"spammers", "inverted", "unusual agreement"} <= {f["name"] for f in found["findings"]}
    assert all(f["advice"] for f in found["findings"])
    assert found["read"]["workers"] == 40


# The memory.

MEASURE = """
import tracemalloc
import numpy as np
from quorate.diagnosis import diagnose
from quorate.labels import Labels
from quorate.votes import Votes

n, per_task = 200_000, 3
random = np.random.default_rng(0)
worker = random.integers(n, size=(n, per_task), dtype=np.int32)
worker[:, 1:] = (worker[:, :1] + random.integers(1, 1000, size=(n, 2))) % n
truth = random.integers(2, size=n)
label = np.where(random.random((n, per_task)) < 0.8, truth[:, None], 1 - truth[:, None])
labels = Labels.from_codes(np.repeat(np.arange(n), per_task), worker.ravel(), label.ravel(),
                           n_workers=n).without_repeats()
votes = Votes.of(labels)
tracemalloc.start()
found = diagnose(votes)
assert found.graph.pairs > n
print(tracemalloc.get_traced_memory()[1] / (labels.n_labels + labels.n_workers))
"""


def test_memory_is_linear_in_labels_and_workers() -> None:
    """Two hundred thousand workers: a dense table of their pairs would be 320 gigabytes."""
    run = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    bytes_each = float(run.stdout)
    assert bytes_each < 400
