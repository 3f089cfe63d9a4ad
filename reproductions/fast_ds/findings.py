"""What *Fast Dawid-Skene* says of its tables 1 and 2 and its figure 1, held against ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reproductions.experiment import Claim
from reproductions.fast_ds.contest import (
    LIKELIHOODS,
    PUBLISHED_LOSS,
    PUBLISHED_SIZES,
    PUBLISHED_SPEED,
    RACES,
    Runs,
    speed_ups,
    with_all,
)
from reproductions.remarks import Remarks

REMARKS = Remarks.beside(__file__)

# "Similar" means within this many points, "significant" this many standard deviations.
SIMILAR, SURE = 2.0, 1.96
BETTER_THAN_VOTE = ("rte", "sp", "adult2", "s_rel")


def claims(runs: Mapping[str, Runs], found: Mapping[str, Any]) -> list[Claim]:
    return [
        *_claims_of_iterations(runs),
        *claims_of_all_labels(found),
        *_claims_of_time(runs),
        _claim_of_switching(runs),
        *_claims_of_likelihood(runs),
        *_claims_of_accuracy(runs),
    ]


def _each(figures: Mapping[str, Any], form: str) -> str:
    return "; ".join(f"{name} {form.format(figure)}" for name, figure in figures.items())


def _claims_of_iterations(runs: Mapping[str, Runs]) -> list[Claim]:
    claims = []
    for method in ("FDS", "Hybrid"):
        fewer = {
            name: float(speed_ups(of, method, "DS", "iterations").mean())
            for name, of in runs.items()
        }
        claims.append(
            Claim(
                f"{method} needs fewer iterations than DS on every data set.",
                min(fewer.values()) > 1,
                _each(fewer, "{:.1f} times"),
            )
        )
    return claims


def claims_of_all_labels(found: Mapping[str, Any]) -> list[Claim]:
    start = "all labels/"
    on_all = {key.removeprefix(start): found[key] for key in found if key.startswith(start)}
    if not on_all:
        return []
    return [
        Claim(
            "On all labels too FDS and Hybrid need fewer iterations than DS, on every data set.",
            all(max(of["FDS"], of["Hybrid"]) < of["DS"] for of in on_all.values()),
            _each(on_all, "{0[DS]} to {0[FDS]} and {0[Hybrid]}"),
        )
    ]


def _claims_of_time(runs: Mapping[str, Runs]) -> list[Claim]:
    """The paper excepts LabelMe, on which its IWMV is faster."""
    claims = []
    for name, of in runs.items():
        if name == "labelme":
            continue
        ms = {method: float(of[method]["ms"].mean()) for method in of if method != "MV"}
        rest = [value for method, value in ms.items() if method != "FDS"]
        claims.append(
            Claim(
                f"On {name} FDS takes the least time of all methods but the vote, averaged over the"
                " numbers of annotators.",
                ms["FDS"] < min(rest),
                _each(ms, "{:.2f} ms"),
            )
        )
    return claims


def _claim_of_switching(runs: Mapping[str, Runs]) -> Claim:
    """A claim on more than one annotator: with one, Hybrid stops before it could switch."""
    soft = {name: float(of["Hybrid"]["soft"][:, 1:].mean()) for name, of in runs.items()}
    return Claim(
        "Hybrid switches after 45 to 75 % of its iterations.",
        all(45 <= share <= 75 for share in soft.values()),
        _each(soft, "{:.0f} %"),
    )


def _claims_of_likelihood(runs: Mapping[str, Runs]) -> list[Claim]:
    loss = {name: {m: with_all(of, m, "loss") for m in LIKELIHOODS} for name, of in runs.items()}
    better = {name: of["FDS"] - of["Hybrid"] for name, of in loss.items()}
    away = {
        name: 100 * (of["Hybrid"] - of["DS"]) / (of["FDS"] - of["DS"]) for name, of in loss.items()
    }
    return [
        Claim(
            "The log-likelihood of Hybrid is better than that of FDS on every data set.",
            min(better.values()) > 0,
            _each(better, "by {:.1f}"),
        ),
        Claim(
            "The log-likelihood of Hybrid is close to that of DS: closer than to that of FDS.",
            max(away.values()) < 50,
            _each(away, "{:.0f} % of the way to FDS"),
        ),
    ]


def _claims_of_accuracy(runs: Mapping[str, Runs]) -> list[Claim]:
    claims = []
    for method in ("FDS", "Hybrid"):
        over = {
            name: with_all(of, method, "right") - with_all(of, "DS", "right")
            for name, of in runs.items()
        }
        claims.append(
            Claim(
                f"{method} is about as accurate as DS with all annotators: within {SIMILAR:g}"
                " points on every data set.",
                max(abs(points) for points in over.values()) <= SIMILAR,
                _each(over, "{:+.2f}"),
            )
        )
    claims += [_better_than_vote(name, runs[name]) for name in BETTER_THAN_VOTE if name in runs]
    if "labelme" in runs:
        claims += _claims_of_labelme(runs["labelme"])
    if "bm" in runs:
        claims.append(_claim_of_bm(runs["bm"]))
    return claims


def _better_than_vote(name: str, of: Runs) -> Claim:
    z = with_all(of, "FDS", "better")
    fast, vote = (with_all(of, method, "right") for method in ("FDS", "MV"))
    return Claim(
        f"On {name} FDS is significantly more accurate than the vote, with all annotators.",
        z > SURE,
        f"{fast:.2f} % against {vote:.2f} %, which is {z:.2f} standard deviations (McNemar's test);"
        f" {SURE} are significant",
    )


def _claims_of_labelme(of: Runs) -> list[Claim]:
    right = {method: with_all(of, method, "right") for method in ("FDS", "DS", "Hybrid")}
    return [
        _better_than_vote("labelme", of),
        Claim(
            "On labelme FDS is less accurate than DS and Hybrid, with all annotators.",
            right["FDS"] < min(right["DS"], right["Hybrid"]),
            _each(right, "{:.2f} %"),
        ),
    ]


def _claim_of_bm(of: Runs) -> Claim:
    over = {m: (of[m]["right"] - of["MV"]["right"]).mean(axis=0) for m in ("FDS", "IWMV")}
    return Claim(
        "On bm FDS and IWMV are slightly less accurate than the vote, averaged over the numbers of"
        " annotators.",
        all(bool(points.mean() < 0) for points in over.values()),
        "; ".join(
            f"{method} {points.mean():+.2f} points, {points[-1]:+.2f} with all annotators"
            for method, points in over.items()
        ),
    )


def remarks(runs: Mapping[str, Runs], found: Mapping[str, Any]) -> list[str]:
    return [
        *([_on_tasks(found["sizes/s_rel"])] if "s_rel" in runs else []),
        _on_iterations(runs),
        _on_time(runs, found),
        _on_likelihood(runs),
        REMARKS.fill("Accuracy"),
        REMARKS.fill("DAiSEE"),
    ]


def _on_tasks(ours: Mapping[str, int]) -> str:
    return REMARKS.fill(
        "Tasks of s_rel",
        paper=PUBLISHED_SIZES["s_rel"][0],
        tasks=ours["tasks"],
        by_workers=ours["by workers"],
        no_such_labels=ours["no such labels"],
        no_such_gold=ours["no such gold"],
        neither=ours["neither"],
    )


def _on_iterations(runs: Mapping[str, Runs]) -> str:
    ratios = {
        f"{fast} over {slow} on {name}": (paper, speed_ups(of, fast, slow, "iterations"))
        for name, of in runs.items()
        for (fast, slow), (_, paper) in zip(RACES, PUBLISHED_SPEED[name], strict=True)
    }
    far = [race for race, (paper, ours) in ratios.items() if not _near(paper, ours)]
    texts = [REMARKS.fill("Iterations", n_ratios=len(ratios), n_near=len(ratios) - len(far))]
    if far:
        texts.append(REMARKS.fill("Iterations that differ", far=", ".join(far)))
    return " ".join([*texts, REMARKS.fill("How iterations are counted")])


def _near(paper: float, ours: np.ndarray[Any, Any]) -> bool:
    spread = float(ours.std(ddof=1)) if len(ours) > 1 else 0.0
    return abs(float(ours.mean()) - paper) <= max(2 * spread, 0.005)


def _on_time(runs: Mapping[str, Runs], found: Mapping[str, Any]) -> str:
    costs = [found[f"cost/{name}"] for name in runs]
    implied = [
        time / iterations for name in runs for time, iterations in [PUBLISHED_SPEED[name][1]]
    ]
    return REMARKS.fill(
        "Time",
        once=_range([cost["DS"]["once"] for cost in costs]),
        further=_range([cost["DS"]["further"] for cost in costs]),
        fds_to_ds=_range(_ratios(costs, "FDS", "DS")),
        iwmv_to_fds=_range(_ratios(costs, "IWMV", "FDS")),
        implied=_range(implied),
    )


def _ratios(costs: Sequence[Mapping[str, Any]], dear: str, cheap: str) -> list[float | None]:
    """Ratios of what a further iteration costs, where both methods made one."""
    further = [(cost[dear]["further"], cost[cheap]["further"]) for cost in costs]
    return [a / b if a is not None and b else None for a, b in further]


def _range(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{min(known):.2g} to {max(known):.2g}" if known else "an unknown number of"


def _on_likelihood(runs: Mapping[str, Runs]) -> str:
    exact, near, far = [], [], []
    for name, of in runs.items():
        for method, paper in zip(LIKELIHOODS, PUBLISHED_LOSS[name], strict=True):
            losses = of[method]["loss"][:, -1]
            difference = float(losses.mean()) - paper
            if abs(difference) <= 0.005 + 1e-9:
                exact.append(f"{method} on {name}")
            elif _near(paper, losses):
                near.append(f"{method} on {name}")
            else:
                far.append(f"{method} on {name} ({100 * difference / paper:+.2f} %)")
    lists = {"exact": exact, "near": near, "far": far}
    return REMARKS.fill(
        "Likelihood", **{name: ", ".join(items) or "none" for name, items in lists.items()}
    )
