"""Votes and features that the joint model made: how well its parameters are found again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from quorate.kernels import Codes, Floats
from quorate.labels import Labels
from reproductions.experiment import Cell, Claim, Figure, Panel, Plan, Report, Table
from reproductions.experts.featured import REPORTS_SMOOTHING, WITHOUT
from reproductions.fitting import fitted
from reproductions.remarks import Remarks
from reproductions.trials import line, slope

REMARKS = Remarks.beside(__file__)

PRIOR = np.array([0.25, 0.35, 0.4])
N_EXPERTS, N_FEATURES, SHARE = 5, 10, 0.5
JOINT, KNOWN = "with features", "truth known"
KINDS = ("confusion", "feature rate", "prior")
# Closer than by default: what is left of the error is to be the sample's, not the stopping rule's.
TO_THE_END: dict[str, Any] = {"tol": 1e-9, "max_iter": 1_000}


def sizes(plan: Plan) -> Sequence[int]:
    chosen: Sequence[int] = plan.pick([250 * 2**i for i in range(8)], [500, 2_000, 8_000])
    return chosen


def cells(plan: Plan) -> list[Cell]:
    return [
        Cell(f"recovery/{n}/{i}", parameter_errors, {"n_tasks": n, "trial": i}, cost=n / 10_000)
        for n in sizes(plan)
        for i in range(plan.pick(20, 6))
    ]


def parameter_errors(plan: Plan, n_tasks: int, trial: int) -> dict[str, dict[str, float]]:
    """The root mean square error of each kind of parameter: of the joint model, without its
    features, and if the truth were known."""
    random = np.random.default_rng([plan.seed, trial])
    confusion, rate = experts(random), random.uniform(0.1, 0.9, (N_FEATURES, 3))
    labels, truth = generated(confusion, rate, n_tasks, random)
    fits = {JOINT: (labels, 1.0), WITHOUT: (labels, 0.0), KNOWN: (replace(labels, gold=truth), 1.0)}
    errors = {}
    for name, (given, weight) in fits.items():
        result = fitted(
            "naive-bayes",
            given,
            feature_weight=weight,
            smoothing=REPORTS_SMOOTHING,
            **TO_THE_END,
        )
        assert result.confusion is not None
        errors[name] = {
            "confusion": _rms(result.confusion - confusion),
            "feature rate": _rms(result.params.feature_rate - rate),
            "prior": _rms(result.params.prior - PRIOR),
        }
    return errors


def experts(random: np.random.Generator) -> Floats:
    """Matrices of experts who know the truth half of the time, and guess in a way of their own if
    not."""
    guess = random.dirichlet(np.ones(3), (N_EXPERTS, 3))
    matrices: Floats = 0.5 * np.eye(3) + 0.5 * guess
    return matrices


def generated(
    confusion: Floats, rate: Floats, n_tasks: int, random: np.random.Generator
) -> tuple[Labels, Codes]:
    """Labels with features, and the truth; half of what the experts would say is missing."""
    truth = random.choice(3, n_tasks, p=PRIOR).astype(np.int32)
    features = csr_array((random.random((n_tasks, len(rate))) < rate[:, truth].T).astype(np.int8))
    task, expert = np.nonzero(random.random((n_tasks, len(confusion))) < SHARE)
    chance = confusion.cumsum(axis=2)[expert, truth[task], :-1]
    label = (random.random(len(task))[:, None] >= chance).sum(axis=1)
    labels = Labels.from_codes(
        *(task, expert, label),
        n_tasks=n_tasks,
        n_workers=len(confusion),
        n_classes=3,
        features=features,
    )
    return labels, truth


def _rms(difference: Floats) -> float:
    return float(np.sqrt(np.mean(difference**2)))


def report(plan: Plan, found: Mapping[str, Any]) -> Report:
    errors = {
        (who, kind, n): [
            trial[who][kind] for key, trial in found.items() if key.startswith(f"recovery/{n}/")
        ]
        for who in (JOINT, WITHOUT, KNOWN)
        for kind in KINDS
        for n in sizes(plan)
    }
    return Report(
        tables=[_table(plan, errors)],
        figures=[_figure(plan, errors)],
        claims=_claims(plan, errors),
        remarks=[_remark(plan, errors)],
    )


Errors = Mapping[tuple[str, str, int], Sequence[float]]


def _mean(errors: Errors, who: str, kind: str, plan: Plan) -> list[float]:
    return [float(np.mean(errors[who, kind, n])) for n in sizes(plan)]


def _table(plan: Plan, errors: Errors) -> Table:
    rows = [
        {
            "tasks": n,
            **{kind: float(np.mean(errors[JOINT, kind, n])) for kind in KINDS},
            **{
                f"{kind}, {who}": float(np.mean(errors[who, kind, n]))
                for who, kind in ((WITHOUT, "confusion"), (KNOWN, "confusion"))
            },
            "trials": len(errors[JOINT, "prior", n]),
        }
        for n in sizes(plan)
    ]
    title = "Recovery: root mean square error of what the joint model made, simulated (ours)"
    return Table("recovery", title, rows, dict.fromkeys(rows[0], 4) | {"tasks": 0, "trials": 0})


def _figure(plan: Plan, errors: Errors) -> Figure:
    panels = []
    for kind in KINDS:
        # Without a weight the rates are not part of the model.
        shown = [who for who in (JOINT, WITHOUT, KNOWN) if (who, kind) != (WITHOUT, "feature rate")]
        lines = [
            line(who, sizes(plan), [errors[who, kind, n] for n in sizes(plan)]) for who in shown
        ]
        panels.append(Panel(kind, "tasks", "root mean square error", lines, "log", "log"))
    title = "Recovery of the parameters: means of trials, with two standard errors"
    # Last stands the panel that has every line.
    return Figure("recovery", title, [panels[1], panels[0], panels[2]])


def _claims(plan: Plan, errors: Errors) -> list[Claim]:
    claims = []
    for kind in KINDS:
        fall = slope(sizes(plan), _mean(errors, JOINT, kind, plan))
        claims.append(
            Claim(
                f"The error of the {kind} falls as one over the root of the number of tasks.",
                -0.65 < fall < -0.35,
                f"slope {fall:.2f} on logarithmic axes, against -0.5",
            )
        )
    full, without = (_mean(errors, who, "confusion", plan) for who in (JOINT, WITHOUT))
    claims.append(
        Claim(
            "With features the experts' matrices are found better than without, at every size.",
            all(a < b for a, b in zip(full, without, strict=True)),
            f"{full[0]:.3f} against {without[0]:.3f} at {sizes(plan)[0]:,} tasks,"
            f" {full[-1]:.4f} against {without[-1]:.4f} at {sizes(plan)[-1]:,}",
        )
    )
    return claims


def _remark(plan: Plan, errors: Errors) -> str:
    times = [
        _mean(errors, JOINT, kind, plan)[-1] / _mean(errors, KNOWN, kind, plan)[-1]
        for kind in KINDS
    ]
    each = ", ".join(f"{ratio:.2f} ({kind})" for kind, ratio in zip(KINDS, times, strict=True))
    return REMARKS.fill(
        "Recovery",
        experts=N_EXPERTS,
        features=N_FEATURES,
        smoothing=REPORTS_SMOOTHING,
        tasks=sizes(plan)[-1],
        ratios=each,
    )
