"""Workers: a table of all with flags, a page for some, and who agrees with whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from quorate import metrics
from quorate.diagnosis import Diagnosis
from quorate.kernels import Codes, Floats
from quorate.report.views.bias import bias_of
from quorate.report.views.survey import Survey
from quorate.result import Result
from quorate.trust import Intervals

SHOWN_WORKERS, SHOWN_CLASSES, SHOWN_PAIRS = 1000, 10, 50
EXACT = 300_000  # votes up to which intervals of matrices allow for answers that are uncertain
LARGEST = 2_000_000  # entries of all matrices up to which they do
NAMED = 200  # workers of a group
FLAGS = ("spammer", "inverted", "too few labels")


def workers_view(
    diagnosis: Diagnosis, counts: Survey, result: Result, active: Codes
) -> dict[str, Any]:
    """Rows of workers with flags, those of whom something is to be said first, and the pages."""
    frame = _flagged(diagnosis, result)
    flagged = pl.col("flag").is_in(["spammer", "inverted"])
    ordered = frame.sort(~flagged, -pl.col("labels"), maintain_order=True)
    rows = ordered.head(SHOWN_WORKERS).to_dicts()
    of_pages = frame[active].to_dicts()
    entries = _entries(counts, result, active)
    shares = result.overview.answered / max(result.overview.tasks, 1)
    return {
        "rows": rows,
        "shown": len(rows),
        "of": len(frame),
        "flags": {flag: int((frame["flag"] == flag).sum()) for flag in FLAGS},
        "chance": float((shares**2).sum()),
        "level": 0.95,
        "pages": [
            _page(row, counts, Intervals(*(each[i] for each in entries)), i, result)
            for i, row in enumerate(of_pages)
        ],
    }


def _flagged(diagnosis: Diagnosis, result: Result) -> pl.DataFrame:
    """The table of workers, with how informed they are, flags, and times where there are some."""
    frame, judged = result.workers_frame, diagnosis.judgement
    if judged is None:
        frame = frame.with_columns(informed=pl.lit(None, dtype=pl.Float64), flag=pl.lit(""))
    else:
        flag = pl.Series(judged.verdict).replace("fine", "")
        frame = frame.with_columns(informed=judged.informed, flag=flag)
    return _with_times(frame, result)


def _with_times(frame: pl.DataFrame, result: Result) -> pl.DataFrame:
    """The table with each worker's median seconds and last vote, where the votes have them."""
    details = None if result.votes is None else result.votes.details
    if details is None:
        return frame
    wanted = {"seconds": pl.col("seconds").median().alias("median_seconds")}
    wanted["time"] = pl.col("time").max().cast(pl.String).alias("last_active")
    known = [n for n in details.columns if n in wanted and details[n].null_count() < len(details)]
    present = [wanted[name] for name in known]
    if not present:
        return frame
    by_worker = details.group_by("worker").agg(present)
    worker = pl.col("worker").cast(pl.String)
    return (
        frame.with_columns(worker.alias("_name"))
        .join(by_worker.with_columns(worker.alias("_name")).drop("worker"), on="_name", how="left")
        .drop("_name")
    )


def _entries(counts: Survey, result: Result, active: Codes) -> Intervals:
    """Confusion matrices of these workers with 95 % intervals: those of `confusion_table`, or with
    very many votes Wilson's, which take the answers as given."""
    n_classes = len(result.classes)
    small = len(result.codebook.workers) * n_classes**2 <= LARGEST
    if small and result.n_labels <= EXACT:
        return Intervals(*(each[active] for each in result.confusion_intervals))
    given = counts.matrices.sum(axis=2, keepdims=True)
    low, high = metrics.wilson_interval(counts.matrices, given)
    return Intervals(counts.matrices / np.where(given > 0, given, 1), low, high)


def _page(
    row: dict[str, Any], counts: Survey, entries: Intervals, i: int, result: Result
) -> dict[str, Any]:
    """One worker: the confusion matrix with counts and intervals, bias in words, and where the
    worker stands alone against the consensus."""
    matrix, names = counts.matrices[i], result.classes
    used = matrix.sum(axis=0) + matrix.sum(axis=1)
    most = np.argsort(-used, kind="stable")[:SHOWN_CLASSES]
    kept = np.sort(most[used[most] > 0.5])
    cut = np.ix_(kept, kept)
    return {
        **row,
        "confusion": {
            "labels": [names[j] for j in kept.tolist()],
            "of": int((used > 0.5).sum()),
            "counts": matrix[cut].round(1).tolist(),
            "shares": entries.mean[cut].round(4).tolist(),
            "low": entries.low[cut].round(4).tolist(),
            "high": entries.high[cut].round(4).tolist(),
        },
        **bias_of(matrix, names),
        "alone": [
            {"task": each.task, "answer": each.label, "confidence": each.confidence}
            for each in counts.against_all[i]
        ],
    }


def agreement_view(
    diagnosis: Diagnosis, counts: Survey, result: Result, active: Codes
) -> dict[str, Any]:
    """Krippendorff's alpha, duplicates, and agreement of the workers with pages, clustered."""
    found = diagnosis.agreement
    order = clustered(counts.shared, counts.agreed)
    names = [result.codebook.workers[int(active[i])] for i in order]
    shared = counts.shared[np.ix_(order, order)]
    agreed = counts.agreed[np.ix_(order, order)]
    share = [
        [round(a / s, 4) if s else None for a, s in zip(x, y, strict=True)]
        for x, y in zip(agreed.tolist(), shared.tolist(), strict=True)
    ]
    return {
        "alpha": found.alpha,
        "alpha_low": found.alpha_low,
        "alpha_high": found.alpha_high,
        "kappa": found.kappa,
        "workers": names,
        "share": share,
        "shared": shared.astype(int).tolist(),
        "shown": len(names),
        "of": len(result.codebook.workers),
        "pairs": _pairs(diagnosis),
        "groups": [
            {"workers": list(group.workers)[:NAMED], "n": len(group.workers), "worth": group.worth}
            for group in diagnosis.groups
        ],
    }


def _pairs(diagnosis: Diagnosis) -> dict[str, Any]:
    """Pairs that agree more than their accuracies explain: duplicates, or experts among others."""
    rows = [
        {
            "worker": pair.workers[0],
            "other_worker": pair.workers[1],
            "shared": pair.shared,
            "agreed": pair.agreed,
            "expected": pair.expected * pair.shared,
        }
        for pair in diagnosis.agreeing[:SHOWN_PAIRS]
    ]
    return {"rows": rows, "shown": len(rows), "of": len(diagnosis.agreeing)}


def clustered(shared: Floats, agreed: Floats) -> list[int]:
    """An order in which workers who agree stand side by side, by the Fiedler vector of their
    agreement; those who never meet count as agreeing as often as all do on average."""
    if len(shared) < 3:
        return list(range(len(shared)))
    mean = agreed.sum() / max(shared.sum(), 1)
    share = (agreed + 2 * mean) / (shared + 2)
    alike = (share + share.T) / 2
    _, vectors = np.linalg.eigh(np.diag(alike.sum(axis=1)) - alike)
    fiedler = vectors[:, 1] * (1 if vectors[0, 1] <= 0 else -1)
    order: list[int] = np.argsort(fiedler.round(9), kind="stable").tolist()
    return order
