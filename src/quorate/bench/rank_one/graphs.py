"""Figure 2 of the rank-one paper: what it is said to show, and why ours shows something else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from quorate.bench.experiment import Claim, Plan, Report
from quorate.bench.rank_one.contestants import METHODS, mean_and_error
from quorate.bench.rank_one.graph_trials import (
    DEVIATIONS,
    FEWEST,
    IN_CAPTION,
    MOST,
    VOTINGS,
    Errors,
    cells,
    figure,
    gathered,
    held_deviation,
    of_assignments,
    sizes,
    sizes_beyond,
    tables,
)
from quorate.bench.rank_one.teams import GRAPHS
from quorate.kernels import Floats

__all__ = ["cells", "report"]


def report(plan: Plan, found: Mapping[str, Any]) -> Report:
    errors = gathered(plan, found)
    return Report(
        tables(plan, errors), [figure(plan, errors)], claims(plan, errors), remarks(plan, errors)
    )


def claims(plan: Plan, errors: Errors) -> list[Claim]:
    return [
        *(_falls(plan, graph, errors) for graph in GRAPHS),
        *(_beats(graph, "MV", errors) for graph in GRAPHS),
        _beats("ring", "Opt-D&S", errors),
        *(_deviations_fall(graph, errors) for graph in GRAPHS),
    ]


def _falls(plan: Plan, graph: str, errors: Errors) -> Claim:
    few, many = errors[graph, FEWEST]["PGD"], errors[graph, MOST]["PGD"]
    fall, error = mean_and_error(of_assignments(few - many))
    means = ", ".join(f"{errors[graph, n]['PGD'].mean():.3f}" for n in sizes(plan))
    return Claim(
        f"On the {graph} the error of PGD falls as tasks are added.",
        fall > 2 * error,
        f"{means} at {', '.join(str(n) for n in sizes(plan))} tasks;"
        f" in all by {fall:.3f}, standard error {error:.3f}",
    )


def _beats(graph: str, rival: str, errors: Errors) -> Claim:
    ours, theirs = errors[graph, MOST]["PGD"], errors[graph, MOST][rival]
    lead, error = mean_and_error(of_assignments(theirs - ours))
    return Claim(
        f"On the {graph} PGD errs less than {rival} at {MOST} tasks, by two standard errors or"
        " more.",
        lead > 2 * error,
        f"{ours.mean():.3f} against {theirs.mean():.3f}: less by {lead:.3f}, standard error"
        f" {error:.3f}",
    )


def _deviations_fall(graph: str, errors: Errors) -> Claim:
    few, many = errors[graph, FEWEST], errors[graph, MOST]
    rising = [m for m in METHODS if held_deviation(many[m]) >= held_deviation(few[m])]
    most = max(METHODS, key=lambda m: held_deviation(many[m]) / held_deviation(few[m]))
    return Claim(
        f"On the {graph} the standard deviations of all seven methods decrease from {FEWEST} to"
        f" {MOST} tasks.",
        not rising,
        f"least of {most}: from {held_deviation(few[most]):.3f} to"
        f" {held_deviation(many[most]):.3f}, skills held",
    )


def remarks(plan: Plan, errors: Errors) -> list[str]:
    return [
        _on_the_reading(errors),
        _on_deviations(errors),
        _on_the_spectral_start(errors),
        _on_what_is_missing(plan, errors),
    ]


def _on_the_reading(errors: Errors) -> str:
    drawn = " and ".join(f"{len(errors[g, MOST]['PGD'])} times on the {g}" for g in GRAPHS[:2])
    return (
        "Figure 2 prints no means, so ours stand alone. A task goes to all eleven workers on the"
        " clique, and to the two workers of an edge on the star and on the ring, which have eleven"
        " edges each; the paper's 11 to 330 tasks are then 1 to 30 for every edge. The skills are"
        f" assigned anew {drawn} and ring, and the votes drawn {VOTINGS} times for each;"
        " the hub of the star has every skill as often. Standard errors are of assignments, since"
        " votings of the same workers are not independent cases."
    )


def _on_deviations(errors: Errors) -> str:
    mv = errors["star", MOST]["MV"]
    published = DEVIATIONS["star", MOST][IN_CAPTION.index("MV")]
    anew = _typical_ratio(errors, lambda found: float(found.std()))
    held = _typical_ratio(errors, held_deviation)
    return (
        "The caption's standard deviations tell something the text leaves open. On the star the"
        " error of the vote hangs on the skill of the hub: if skills are assigned anew in each"
        f" trial it deviates by {mv.std():.3f} at {MOST} tasks, with the same skills in all trials"
        f" by {held_deviation(mv):.3f}, and the paper prints {published}. So the paper probably"
        " assigned the skills once. Over the 42 printed deviations ours are typically"
        f" {anew:.1f} times as large with skills assigned anew and {held:.1f}"
        " times with skills held (geometric means). What is left depends on the assignment that"
        " the paper drew, which is not printed, and on its fifteen trials: a deviation from so"
        " few has itself a standard error of about a fifth."
    )


def _typical_ratio(errors: Errors, of: Callable[[Floats], float]) -> float:
    ratios = [
        of(errors[which][method]) / paper
        for which, published in DEVIATIONS.items()
        for method, paper in zip(IN_CAPTION, published, strict=True)
    ]
    return float(np.exp(np.mean(np.log(np.maximum(ratios, 1e-9)))))


def _on_the_spectral_start(errors: Errors) -> str:
    ring, star = errors["ring", MOST], errors["star", MOST]
    mean = {method: f"{wrong.mean():.3f}" for method, wrong in ring.items()}
    beaten = ring["PGD"].mean() < ring["Opt-D&S"].mean()
    return (
        f"On the ring PGD {'beats' if beaten else 'does not beat'} our Opt-D&S ({mean['PGD']}"
        f" against {mean['Opt-D&S']}), of which the paper says that it suffers there. With two"
        " labels for each task there are no third moments: the spectral start has no answer in"
        f" {100 * ring['fell back'].mean():.0f} % of the crowds on the ring and"
        f" {100 * star['fell back'].mean():.0f} % on the star, and ours then begins from the vote."
        " The same EM from confusion matrices drawn at random, a start that knows nothing, errs on"
        f" {mean['D&S, random start']}. Of the methods that take a vector of all agreements at"
        f" once, ER errs on {mean['ER']}, Ghosh-SVD on {mean['Ghosh-SVD']}, KOS on {mean['KOS']}"
        f" and, by messages, on {mean['KOS, messages']}."
    )


def _at_first(plan: Plan, errors: Errors) -> str:
    """One task for each edge, and then some more."""
    few, more = sizes(plan)[:2]
    means = {(n, m): f"{errors['ring', n][m].mean():.3f}" for n in (few, more) for m in METHODS}
    return (
        f"With {few} it errs on {means[few, 'PGD']} (the vote on {means[few, 'MV']}), with {more}"
        f" on {means[more, 'PGD']} ({means[more, 'MV']})."
    )


def _on_what_is_missing(plan: Plan, errors: Errors) -> str:
    ring, star = errors["ring", MOST], errors["star", MOST]

    def sign_known(method: str, crowds: Mapping[str, Floats]) -> str:
        return f"{np.minimum(crowds[method], 1 - crowds[method]).mean():.3f}"

    later = "; ".join(
        f"at {n:,} tasks {errors['ring', n]['PGD'].mean():.3f} against"
        f" {errors['ring', n]['Opt-D&S'].mean():.3f} of Opt-D&S and"
        f" {errors['ring', n]['IWMV'].mean():.3f} of IWMV"
        for n in (MOST, *sizes_beyond(plan))
    )
    return (
        "What PGD lacks on the ring is tasks: thirty for each edge tell little of a product of"
        f" small skills. {_at_first(plan, errors)} Its error is {later}. With the true skills it"
        f" would be {ring['true skills'].mean():.3f}, on the star {star['true skills'].mean():.3f}."
        " The sign of the skills is known only by their sum, and may be wrong: more than half"
        f" of PGD's answers are wrong in {100 * (ring['PGD'] > 0.5).mean():.0f} % of the crowds on"
        f" the ring and {100 * (star['PGD'] > 0.5).mean():.0f} % on the star, and were each crowd's"
        f" sign told it would err on {sign_known('PGD', ring)} and {sign_known('PGD', star)}"
        f" (Opt-D&S {sign_known('Opt-D&S', ring)} and {sign_known('Opt-D&S', star)})."
    )
