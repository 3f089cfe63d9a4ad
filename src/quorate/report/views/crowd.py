"""Workers: a table of all with flags, a page for some, and who agrees with whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from quorate.diagnosis import Diagnosis
from quorate.kernels import Codes, Floats
from quorate.report.views.survey import Survey
from quorate.result import Result

SHOWN_WORKERS = 1000
SAYS_MORE, AT_LEAST = 1.5, 5  # times as often as it should; labels to say so
FLAGS = {"spammer": "spammer", "inverted": "inverted", "too few labels": "too few labels"}


def workers_view(
    diagnosis: Diagnosis, counts: Survey, result: Result, active: Codes
) -> dict[str, Any]:
    """Rows of workers with flags, those of whom something is to be said first, and the pages."""
    frame = result.workers_frame
    verdict = diagnosis.judgement.verdict if diagnosis.judgement else ["fine"] * len(frame)
    informed = None if diagnosis.judgement is None else diagnosis.judgement.informed
    frame = frame.with_columns(flag=pl.Series(verdict).replace("fine", ""))
    if informed is not None:
        frame = frame.with_columns(informed=pl.Series(informed))
    frame = _with_times(frame, result)
    flagged = pl.col("flag").is_in(["spammer", "inverted"])
    ordered = frame.with_row_index("code").sort(~flagged, -pl.col("labels"), maintain_order=True)
    rows = ordered.head(SHOWN_WORKERS).drop("code").to_dicts()
    flags = {flag: int((frame["flag"] == flag).sum()) for flag in FLAGS}
    return {
        "rows": rows,
        "shown": len(rows),
        "of": len(frame),
        "flags": flags,
        "pages": [_page(i, int(code), counts, result) for i, code in enumerate(active.tolist())],
    }


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


def _page(i: int, code: int, counts: Survey, result: Result) -> dict[str, Any]:
    """One worker: the expected confusion matrix, what is said too often, and where the worker
    stands alone against the consensus."""
    matrix = counts.matrices[i]
    names = result.classes
    used = np.flatnonzero(matrix.sum(axis=0) + matrix.sum(axis=1) > 0.5)
    return {
        "worker": result.codebook.workers[code],
        "labels": [names[j] for j in used.tolist()],
        "counts": matrix[np.ix_(used, used)].round(2).tolist(),
        "says_too_often": _leanings(matrix, names),
        "alone": [
            {"task": row.task, "label": row.label, "confidence": row.confidence}
            for row in counts.against_all[i]
        ],
    }


def _leanings(matrix: Floats, names: list[Any]) -> list[dict[str, Any]]:
    """Labels that the worker says clearly more often than the answers to the same tasks are."""
    said, truth = matrix.sum(axis=0), matrix.sum(axis=1)
    often = (said >= AT_LEAST) & (said > SAYS_MORE * np.maximum(truth, 1))
    return [
        {
            "label": names[j],
            "said": float(said[j]),
            "expected": float(truth[j]),
            "times": float(said[j] / max(truth[j], 1)),
        }
        for j in np.flatnonzero(often).tolist()
    ]


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
        [float(a / s) if s else None for a, s in zip(x, y, strict=True)]
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
        "of": len(result.codebook.workers),
        "agreeing": [
            {
                "workers": list(pair.workers),
                "shared": pair.shared,
                "agreed": pair.agreed,
                "expected": pair.expected * pair.shared,
            }
            for pair in diagnosis.agreeing[:20]
        ],
        "groups": [
            {"workers": list(group.workers), "worth": group.worth} for group in diagnosis.groups
        ],
    }


def clustered(shared: Floats, agreed: Floats) -> list[int]:
    """An order in which workers who agree stand side by side; those who never meet count as
    agreeing as often as all do on average."""
    if len(shared) < 3:
        return list(range(len(shared)))
    from scipy.cluster.hierarchy import leaves_list, linkage  # slow to import
    from scipy.spatial.distance import squareform

    mean = agreed.sum() / max(shared.sum(), 1)
    share = (agreed + 2 * mean) / (shared + 2)
    distance = 1 - (share + share.T) / 2
    np.fill_diagonal(distance, 0)
    order: list[int] = leaves_list(linkage(squareform(distance, checks=False), "average")).tolist()
    return order
