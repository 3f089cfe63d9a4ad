"""What a project has to say, as tables and dictionaries."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import polars as pl
from sqlalchemy import select

from quorate import metrics
from quorate.errors import DataError
from quorate.online.ledger import ROLES
from quorate.result import Result
from quorate.service.failures import MissingError
from quorate.service.handing import stopped
from quorate.service.project import Project, Worker
from quorate.service.store import tables
from quorate.votes import shown

FORMATS = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}


def summary(project: Project) -> dict[str, Any]:
    """How a project stands."""
    with project.lock:
        ledger = project.ledger
        standing = project.ranking.standing(ledger)
        voted = int(ledger.state.ballots.voted.sum())
        return {
            "project": project.name,
            "title": project.settings.title or project.name,
            "version": project.version,
            "tasks": standing.tasks,
            "tasks_with_votes": voted,
            "open_tasks": standing.open,
            "votes": ledger.n_votes,
            "workers": len(ledger.names["worker"].kept),
            "classes": list(ledger.names["label"].kept),
            "known_answers": len(ledger.gold),
            "handed_out": len(project.leases),
            "spent": project.spent,
            "budget": project.settings.budget,
            "expected_error": standing.error if ledger.n_votes else None,
            "settled": ledger.settled is not None,
            "stopped": stopped(project),
            "archived": project.archived,
        }


def result_of(project: Project) -> Result:
    """What `aggregate` says of the votes, or what is believed since the last settling."""
    with project.lock:
        if not project.ledger.n_votes:
            raise DataError("There are no votes yet.")
        seen = (id(project.online.ledger), project.online.ledger.n_steps, project.online._rewinds)
        if project.cached is None or project.cached[0] != seen:
            project.cached = (seen, project.online.result())
        result: Result = project.cached[1]
        return result


def labels_frame(project: Project) -> pl.DataFrame:
    """The answer of every task that has votes or a known answer."""
    with project.lock:
        ledger = project.ledger
        classes = ledger.names["label"].names
        tasks, votes = list(ledger.names["task"].names), []
        label: list[str | None] = []
        confidence: list[float] = []
        if tasks:
            codes, best, sure = project.online.answers()
            label = [classes[code] for code in best.tolist()]
            confidence = sure.tolist()
            latest = np.bincount(ledger.state.ballots.task.values, minlength=len(codes))
            votes = latest.tolist()
        for task, answer in ledger.gold.items():
            if (code := ledger.names["task"].get(task)) is not None:
                label[code], confidence[code] = answer, 1.0
            else:
                tasks.append(task)
                label.append(answer)
                confidence.append(1.0)
                votes.append(0)
    columns = {"task": tasks, "label": label, "confidence": confidence, "votes": votes}
    kinds = {"task": pl.Utf8, "label": pl.Utf8, "confidence": pl.Float64, "votes": pl.Int64}
    return pl.DataFrame(columns, schema=kinds)


def priorities(project: Project) -> dict[str, tuple[str | None, float]]:
    """The answer of every task, None without votes, and how little a vote on it is worth: its
    confidence, lowered by its priority, or 1 where no votes are asked for."""
    with project.lock:
        frame = labels_frame(project)
        label = dict(zip(frame["task"], frame["label"], strict=True))
        asked, confidence = project.ranking.open_tasks(project.ledger)
        lowered = confidence * 10.0 ** -np.maximum(project.ranking.priority.values, 0.0)
        score = np.where(asked, np.minimum(lowered, 1.0), 1.0).tolist()
        names = project.names("task").kept
        return {
            name: (label.get(name), score[id] if name in label or score[id] == 1.0 else 0.0)
            for id, name in enumerate(names)
        }


def posterior_frame(project: Project) -> pl.DataFrame:
    """The probability of each class, of every task that has votes."""
    with project.lock:
        ledger = project.ledger
        settled, names = ledger.settled, list(ledger.names["task"].names)
        classes = list(ledger.names["label"].names)
        posterior = ledger.state.all_posteriors() if settled is None else settled.posterior
        columns = {label: posterior[:, i].tolist() for i, label in enumerate(classes)}
    return pl.DataFrame({"task": names}, schema={"task": pl.Utf8}).with_columns(
        pl.Series(f"{label}", shares, dtype=pl.Float64) for label, shares in columns.items()
    )


def workers_frame(project: Project) -> pl.DataFrame:
    """Every worker: votes, accuracy with its 95 % interval, and what was said of them."""
    with project.lock:
        ledger = project.ledger
        known, names = ledger.names["worker"], list(ledger.names["worker"].kept)
        codes = np.array([-1 if (c := known.get(n)) is None else c for n in names], dtype=np.int64)
        votes, accuracy = np.zeros(len(names), np.int64), np.full(len(names), np.nan)
        low, high = np.zeros(len(names)), np.ones(len(names))
        voted = codes >= 0
        if voted.any():
            cast = np.bincount(ledger.state.ballots.worker.values, minlength=len(known))
            votes[voted] = cast[codes[voted]]
            if ledger.settled is None:
                right, wrong = ledger.state.sums.tally(codes[voted].astype(np.int32)).T
                accuracy[voted] = right / np.maximum(right + wrong, 1e-12)
                low[voted], high[voted] = metrics.wilson_interval(right, right + wrong)
            else:
                table = ledger.settled.result.workers_frame
                for column, name in ((accuracy, "accuracy"), (low, "low"), (high, "high")):
                    column[voted] = table[name].to_numpy()[codes[voted]]
        about = [project.workers.get(id, Worker()) for id in range(len(names))]
        held = [len(project.leases.of(id)) for id in range(len(names))]
    return pl.DataFrame(
        {
            "worker": pl.Series(names, dtype=pl.Utf8),
            "votes": votes,
            "accuracy": pl.Series(accuracy).fill_nan(None),
            "low": low,
            "high": high,
            "handed_out": pl.Series(held, dtype=pl.Int64),
            "kind": pl.Series([w.kind for w in about], dtype=pl.Utf8),
            "cost": pl.Series([w.cost for w in about], dtype=pl.Float64),
            "capacity": pl.Series([w.capacity for w in about], dtype=pl.Int64),
            "paused": pl.Series([w.paused for w in about], dtype=pl.Boolean),
            "alias": pl.Series([w.alias for w in about], dtype=pl.Utf8),
        }
    )


def votes_frame(project: Project) -> pl.DataFrame:
    """Every vote that counts, with the time at which it came."""
    with project.lock:
        ledger = project.ledger
        ballots = ledger.state.ballots
        codes = [column.values.copy() for column in (ballots.task, ballots.worker, ballots.label)]
        names = [list(ledger.names[role].names) for role in ROLES]
        ids = ledger.ids.values.copy()
    of = tables.receipts.c
    query = select(of.vote, of.at).where(of.project == project.id, of.kind != "withdraw")
    with project.store.reading() as connection:
        rows = connection.execute(query.order_by(of.vote)).all()
    firsts = np.array([vote for vote, _ in rows], dtype=np.int64)
    times = np.array([at for _, at in rows], dtype=np.int64)
    at = times[np.maximum(np.searchsorted(firsts, ids, side="right") - 1, 0)] if rows else ids * 0
    table = {
        role: pl.Series(names[i], dtype=pl.Utf8).gather(codes[i]) for i, role in enumerate(ROLES)
    }
    time = pl.Series("time", at).cast(pl.Datetime("ms", "UTC"))
    return pl.DataFrame(table).with_columns(time)


def votes_by_id(project: Project) -> dict[int, tuple[str, str]]:
    """The task and the worker of every vote that counts and that nobody corrected."""
    with project.lock:
        ledger = project.ledger
        ballots = ledger.state.ballots
        tasks, workers = ledger.names["task"].names, ledger.names["worker"].names
        said = zip(ballots.task.values.tolist(), ballots.worker.values.tolist(), strict=True)
        ids = ledger.ids.values.tolist()
        return {id: (tasks[t], workers[w]) for id, (t, w) in zip(ids, said, strict=True)}


def task_view(project: Project, task: str) -> dict[str, Any]:
    """Everything of one task."""
    with project.lock:
        id = project.id_of("task", task)
        if id is None:
            raise MissingError(f"There is no task {shown(task)}.")
        ledger = project.ledger
        code = ledger.names["task"].get(task)
        votes: list[dict[str, Any]] = []
        label, confidence, posterior = None, None, None
        if code is not None:
            answer = project.online.label(task)
            label, confidence = answer.label, answer.confidence
            classes, workers = ledger.names["label"].names, ledger.names["worker"].names
            settled = ledger.settled
            shares = (
                ledger.state.posterior(code)
                if settled is None
                else settled.posterior[code].tolist()
            )
            posterior = dict(zip(classes, shares, strict=False))
            ballots = ledger.state.ballots
            for place in reversed(ballots.of(code)):
                said = classes[ballots.label.cells[place]]
                votes.append({"worker": workers[ballots.worker.cells[place]], "label": said})
        gold = ledger.gold.get(task)
        if gold is not None:
            label, confidence = gold, 1.0
    about = project.about([id])[id]
    return {
        "task": task,
        "label": label,
        "confidence": confidence,
        "posterior": posterior,
        "votes": votes,
        "gold": gold,
        "priority": about["priority"],
        "closed": bool(about["closed"]),
        "payload": about["payload"] and json.loads(about["payload"]),
        "features": about["features"] and json.loads(about["features"]),
    }


def worker_view(project: Project, worker: str) -> dict[str, Any]:
    """Everything of one worker."""
    with project.lock:
        id = project.id_of("worker", worker)
        if id is None:
            raise MissingError(f"There is no worker {shown(worker)}.")
    return workers_frame(project).row(id, named=True)


def estimate(project: Project) -> dict[str, Any]:
    """The expected error, and the share of each class, with their 90 % intervals."""
    result = result_of(project)
    shares = result.class_share_rows()
    return {
        "method": result.method,
        "expected_error": result.expected_error._asdict(),
        "classes": [
            {"label": label, "share": share, "low": low, "high": high}
            for label, (share, low, high) in zip(result.classes, shares, strict=True)
        ],
    }


def as_bytes(frame: pl.DataFrame, format: str) -> bytes:
    """A table as a file."""
    file = io.BytesIO()
    if format == "parquet":
        frame.write_parquet(file)
    elif format == "jsonl":
        frame.write_ndjson(file)
    else:
        frame.write_csv(file)
    return file.getvalue()


def diagnosis(project: Project) -> dict[str, Any]:
    """What `quorate diagnose --json` says."""
    from quorate.diagnosis import diagnose

    result = result_of(project)
    if project.diagnosed is None or project.diagnosed[0] is not result:
        project.diagnosed = (result, diagnose(result).as_dict())
    found: dict[str, Any] = project.diagnosed[1]
    return found
