"""Summary of a result as one dictionary, from which every report is made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate import __version__
from quorate.card import Listing, Share, card
from quorate.kernels import Floats
from quorate.votes import named

if TYPE_CHECKING:
    from quorate.result import Result

ON_GOLD = ("gold_labels", "gold_accuracy")
SHOWN_WORKERS = 5
ENOUGH_LABELS = 10  # of a worker, to be ranked
SHOWN_CLASSES = 12


def summarise(result: Result) -> dict[str, Any]:
    """The dictionary that `quorate aggregate --json` prints."""
    return {
        "read": _read(result),
        "found": _found(result),
        "how": _how(result),
        "notes": list(result.notes),
    }


def _read(result: Result) -> dict[str, Any]:
    read: dict[str, Any] = {
        "tasks": result.overview.tasks,
        "workers": len(result.tally),
        "labels": result.n_labels,
        "classes": len(result.classes),
    }
    if result.read is not None:
        dropped = 0 if result.read.repeats_kept else result.read.repeated
        read |= {
            "rows": result.read.rows,
            "dropped_missing": result.read.missing,
            "dropped_repeats": dropped,
            "repeats_counted": result.read.repeated - dropped,
            "format": result.read.format,
            "dropped_of_export": dict(result.read.dropped),
        }
    return read


def _found(result: Result) -> dict[str, Any]:
    overview = result.overview
    shares = overview.answered / max(overview.tasks, 1)
    return {
        "class_shares": {
            str(name): float(share) for name, share in zip(result.classes, shares, strict=True)
        },
        "class_share_intervals": _intervals(result),
        "mean_confidence": overview.confidence / max(overview.tasks, 1),
        "expected_error": result.expected_error._asdict(),
        "known_answers": overview.known,
        "near_ties": overview.near_ties,
        "undecided": overview.undecided,
        "decided": _decided(result),
        **_workers(result),
    }


def _intervals(result: Result) -> dict[str, list[float]]:
    """The 90 % interval of each class's share."""
    rows = result.class_share_rows()
    return {str(name): list(row[1:]) for name, row in zip(result.classes, rows, strict=True)}


def _decided(result: Result) -> dict[str, Any] | None:
    """How many answers are decided, and the expected error of those; None where all are."""
    if not result.min_confidence:
        return None
    tasks = max(result.overview.tasks, 1)
    return {
        "min_confidence": result.min_confidence,
        "share": 1 - result.overview.undecided / tasks,
        "expected_error": result.expected_error_of_decided._asdict(),
        "promised": result.decision is not None and result.decision.promised,
    }


def _workers(result: Result) -> dict[str, Any]:
    """The best and the worst workers by agreement with the answers, of those with enough labels."""
    labels = result.tally.sum(axis=1).round()  # right and wrong are expected numbers
    right = np.divide(result.tally[:, 0], labels, out=np.zeros_like(labels), where=labels > 0)
    least = min(ENOUGH_LABELS, float(np.median(labels)))
    ranked = np.flatnonzero(labels >= least)
    ranked = ranked[np.argsort(-right[ranked], kind="stable")]
    best = ranked[:SHOWN_WORKERS]
    worst = ranked[len(best) :][-SHOWN_WORKERS:]
    return {
        "ranked_workers": len(ranked),
        "least_labels": least,
        "best_workers": _rows(result, best, labels, right),
        "worst_workers": _rows(result, worst, labels, right),
    }


def _rows(result: Result, which: Any, labels: Floats, right: Floats) -> list[dict[str, Any]]:
    names = result.codebook.workers
    on_gold = {name: result.per_worker[name] for name in ON_GOLD if name in result.per_worker}
    return [
        {
            "worker": _name(names[i]),
            "labels": round(labels[i]),
            "agreement": float(right[i]),
            **{name: values[i] for name, values in on_gold.items()},
        }
        for i in which.tolist()
    ]


def _name(name: Any) -> Any:
    """A name that JSON can hold, which has no dates and no infinity."""
    is_plain = isinstance(name, (str, int)) or (isinstance(name, float) and math.isfinite(name))
    return name if is_plain else str(name)


def _how(result: Result) -> dict[str, Any]:
    return {
        "method": result.method,
        "mixture": result.mixture,
        "iterations": result.iterations,
        "converged": result.converged,
        "objective": _finite(result.objective[-1]),
        "log_likelihood": _finite(result.log_likelihood),
        "seconds": result.seconds,
        "version": __version__,
    }


def _finite(value: float | None) -> float | None:
    """The value, or None for infinity, which JSON does not have."""
    return value if value is not None and math.isfinite(value) else None


def as_text(summary: Mapping[str, Any], tables: str) -> str:
    """Format the summary as a few lines of plain text, the last of which names the `tables`."""
    read, found, how = summary["read"], summary["found"], summary["how"]
    facts = [
        ("classes", class_shares(found["class_shares"])),
        ("expected error", expected_error(found["expected_error"])),
    ]
    near = found["near_ties"]
    if found["decided"] is not None:
        facts.append(("decided", decided(found["decided"])))
    facts += [
        ("confidence", f"{found['mean_confidence']:.3f} on average; {near:,} near ties"),
        ("how", f"{iterations(how)}, {how['seconds']:.2f} s"),
        ("tables", tables),
        *(("note", note) for note in summary["notes"]),
    ]
    counts = ", ".join(f"{read[name]:,} {name}" for name in ("tasks", "workers", "labels"))
    lines = [f"  {name:<15} {value}" for name, value in facts]
    return "\n".join([f"Result of {how['method'] or 'a model'} on {counts}", *lines])


def as_card(summary: Mapping[str, Any], least_certain: Sequence[tuple[Any, Any, float]]) -> str:
    """The summary as a card for a notebook."""
    read, found, how = summary["read"], summary["found"], summary["how"]
    counts = ", ".join(f"{read[name]:,} {name}" for name in ("tasks", "workers", "labels"))
    facts = {
        "expected error": expected_error(found["expected_error"]),
        "confidence": f"{found['mean_confidence']:.3f} on average",
        "near ties": f"{found['near_ties']:,}",
        "how": f"{iterations(how)}, {how['seconds']:.2f} s",
    }
    if found["decided"] is not None:
        facts["decided"] = decided(found["decided"])
    shares = sorted(found["class_shares"].items(), key=lambda item: -item[1])
    workers = [*found["best_workers"], *found["worst_workers"]]
    listings = [
        Listing("Classes", ("label", "share"), [(name, Share(share)) for name, share in shares]),
        Listing(
            f"Workers, the best and the worst of {found['ranked_workers']:,}",
            ("worker", "labels", "agreement"),
            [(row["worker"], row["labels"], Share(row["agreement"])) for row in workers],
        ),
    ]
    if least_certain:
        rows = [(task, label, Share(sure)) for task, label, sure in least_certain]
        listings.append(Listing("Least certain", ("task", "label", "confidence"), rows))
    title = f"{how['method'] or 'A model'} on {counts}"
    return card(title, facts, listings, summary["notes"])


def class_shares(shares: Mapping[str, float]) -> str:
    """Format the class shares, the largest first, and how many more classes there are."""
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{named(name)} {share:.1%}" for name, share in ordered[:SHOWN_CLASSES])
    more = len(ordered) - SHOWN_CLASSES
    return f"{shown}, and {more} more" if more > 0 else shown


def expected_error(error: Mapping[str, float]) -> str:
    """Format the expected error with its interval, in per cent."""
    share, low, high = error.values()
    return f"{share:.1%} (90 % interval {low:.1%} to {high:.1%})"


def decided(found: Mapping[str, Any]) -> str:
    """Format the share of decided answers and their expected error."""
    if found["min_confidence"] >= 1:
        return f"{found['share']:.1%}: only answers that are known"
    error = expected_error(found["expected_error"])
    at = f"from a confidence of {found['min_confidence']:.4g} on"
    return f"{found['share']:.1%}, {at}; of these {error} are expected to be wrong"


def iterations(how: Mapping[str, Any]) -> str:
    """Format the number of iterations, and whether the fit converged."""
    state = "converged" if how["converged"] else "stopped before it converged (see max_iter)"
    return f"{how['iterations']} iterations, {state}"
