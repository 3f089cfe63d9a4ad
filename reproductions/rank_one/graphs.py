"""Figure 2 of the rank-one paper: what it is said to show, and why ours shows something else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from quorate.kernels import Floats
from reproductions.experiment import Claim, Plan, Report
from reproductions.rank_one.contestants import METHODS, mean_and_error
from reproductions.rank_one.graph_trials import (
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
from reproductions.rank_one.teams import GRAPHS
from reproductions.remarks import Remarks

REMARKS = Remarks.beside(__file__)

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
    clique, star = (len(errors[graph, MOST]["PGD"]) for graph in GRAPHS[:2])
    return REMARKS.fill("Graphs", on_clique=clique, on_star=star, votings=VOTINGS)


def _on_deviations(errors: Errors) -> str:
    vote = errors["star", MOST]["MV"]
    return REMARKS.fill(
        "Deviations",
        most=MOST,
        deviation=float(vote.std()),
        held=held_deviation(vote),
        printed=DEVIATIONS["star", MOST][IN_CAPTION.index("MV")],
        anew_ratio=_typical_ratio(errors, lambda found: float(found.std())),
        held_ratio=_typical_ratio(errors, held_deviation),
    )


def _typical_ratio(errors: Errors, of: Callable[[Floats], float]) -> float:
    """The geometric mean of our deviations over the printed ones."""
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
    return REMARKS.fill(
        "The spectral start on graphs",
        beats="beats" if beaten else "does not beat",
        pgd=mean["PGD"],
        opt=mean["Opt-D&S"],
        fell_back_ring=100 * ring["fell back"].mean(),
        fell_back_star=100 * star["fell back"].mean(),
        random_start=mean["D&S, random start"],
        er=mean["ER"],
        ghosh=mean["Ghosh-SVD"],
        kos=mean["KOS"],
        messages=mean["KOS, messages"],
    )


def _on_what_is_missing(plan: Plan, errors: Errors) -> str:
    ring, star = errors["ring", MOST], errors["star", MOST]
    few, more = sizes(plan)[:2]
    return REMARKS.fill(
        "Tasks on the ring",
        few=few,
        more=more,
        pgd_few=_mean_on_ring(errors, few, "PGD"),
        mv_few=_mean_on_ring(errors, few, "MV"),
        pgd_more=_mean_on_ring(errors, more, "PGD"),
        mv_more=_mean_on_ring(errors, more, "MV"),
        later="; ".join(_at_size(errors, n) for n in (MOST, *sizes_beyond(plan))),
        true_ring=ring["true skills"].mean(),
        true_star=star["true skills"].mean(),
        upside_down_ring=100 * (ring["PGD"] > 0.5).mean(),
        upside_down_star=100 * (star["PGD"] > 0.5).mean(),
        pgd_signed_ring=_error_if_sign_known(ring["PGD"]),
        pgd_signed_star=_error_if_sign_known(star["PGD"]),
        opt_signed_ring=_error_if_sign_known(ring["Opt-D&S"]),
        opt_signed_star=_error_if_sign_known(star["Opt-D&S"]),
    )


def _mean_on_ring(errors: Errors, n: int, method: str) -> float:
    return float(errors["ring", n][method].mean())


def _error_if_sign_known(wrong: Floats) -> float:
    return float(np.minimum(wrong, 1 - wrong).mean())


def _at_size(errors: Errors, n: int) -> str:
    pgd, opt, iwmv = (_mean_on_ring(errors, n, method) for method in ("PGD", "Opt-D&S", "IWMV"))
    return REMARKS.fill("Error on the ring at a size", n=n, pgd=pgd, opt=opt, iwmv=iwmv)
