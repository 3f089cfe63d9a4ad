"""The routes under /api/v1."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from concurrent.futures import Future
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
from fastapi import APIRouter, Query, Request
from fastapi import Path as InPath
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response, StreamingResponse
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import func, select

from quorate.errors import DataError
from quorate.online.ledger import ROLES
from quorate.service import views
from quorate.service.api import schemas, straight
from quorate.service.api.access import Admin, AnyWorker, Requester
from quorate.service.failures import STATUS, MissingError
from quorate.service.project import Project
from quorate.service.service import Service
from quorate.service.settings import Name, ProjectName
from quorate.service.store import tables
from quorate.votes import shown

# Named, not given as a model: a validator for each would take a third of the time to import this.
AN_ERROR = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
FAILURES: dict[int | str, dict[str, Any]] = {
    status: {"content": AN_ERROR} for status in sorted({*STATUS.values(), 400})
}
POLL = 0.5  # seconds between looks at whether something has changed
HEARTBEAT = 15.0  # seconds after which a stream says that it is there

NAME: TypeAdapter[str] = TypeAdapter(Name)

router = APIRouter(prefix="/api/v1", responses=FAILURES)

InProject = Annotated[ProjectName, InPath()]
InName = Annotated[Name, InPath()]
Offset = Annotated[int, Query(ge=0, le=10**9)]
Limit = Annotated[int, Query(ge=1, le=10_000)]


def service_of(request: Request) -> Service:
    """The service behind the routes."""
    service: Service = request.app.state.service
    return service


def project_of(request: Request, name: str) -> Project:
    """The project of a path."""
    return service_of(request).project(name)


async def done(future: Future[Any]) -> Any:
    """What the writer answers, once it is committed."""
    return await asyncio.wrap_future(future)


# Votes.


VOTES = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/NewVotes"}}}}
TAKES_VOTES: dict[str, Any] = {"requestBody": {"required": True, **VOTES}}


@router.post(
    "/projects/{project}/votes",
    status_code=201,
    response_model=schemas.Taken,
    tags=["votes"],
    openapi_extra=TAKES_VOTES,
)
async def add_votes(request: Request, project: InProject, caller: AnyWorker) -> Response:
    """Take votes: answered once they are kept for good."""
    body = await request.body()
    taken = await straight.take_votes(service_of(request), caller, project, body, correct=False)
    return Response(taken, 201, media_type="application/json")


@router.post(
    "/projects/{project}/votes/correct",
    response_model=schemas.Taken,
    tags=["votes"],
    openapi_extra=TAKES_VOTES,
)
async def correct_votes(request: Request, project: InProject, caller: AnyWorker) -> Response:
    """Take votes in place of those that these workers gave on these tasks before."""
    body = await request.body()
    taken = await straight.take_votes(service_of(request), caller, project, body, correct=True)
    return Response(taken, media_type="application/json")


@router.post("/projects/{project}/votes/withdraw", tags=["votes"])
async def withdraw_votes(
    request: Request, project: InProject, these: schemas.Withdrawals, caller: AnyWorker
) -> schemas.Taken:
    """Take votes back, as if they had never come."""
    for vote in these.votes:
        caller.require_worker(vote.worker)
    pairs = [(vote.task, vote.worker) for vote in these.votes]
    service, found = service_of(request), project_of(request, project)
    receipt = await done(service.withdraw(found, pairs, key=these.key, sender=caller.name))
    return schemas.Taken(votes=receipt.size, first=receipt.vote, repeated=receipt.repeated)


@router.get("/projects/{project}/next", response_model=schemas.Next, tags=["votes"])
async def next_tasks(
    request: Request,
    project: InProject,
    caller: AnyWorker,
    worker: Annotated[Name, Query()],
    n: Annotated[int, Query(ge=1, le=100)] = 1,
) -> Response:
    """The tasks where a vote of this worker is worth most, leased to them for a while."""
    tasks = await straight.next_tasks(service_of(request), caller, project, worker, n)
    return Response(tasks, media_type="application/json")


@router.post("/projects/{project}/release", tags=["votes"])
def release_tasks(
    request: Request, project: InProject, these: schemas.Withdrawals, caller: AnyWorker
) -> schemas.Added:
    """Give tasks back without a vote, so that others get them."""
    found, released = project_of(request, project), 0
    for lease in these.votes:
        caller.require_worker(lease.worker)
    with found.lock:
        for lease in these.votes:
            task, worker = found.id_of("task", lease.task), found.id_of("worker", lease.worker)
            released += task is not None and worker is not None and found.take_lease(task, worker)
    return schemas.Added(added=released)


# Projects.


@router.get("/projects", tags=["projects"])
def list_projects(request: Request, caller: AnyWorker) -> list[schemas.Summary]:
    """The projects that the caller may see, and how they stand."""
    projects = service_of(request).projects.values()
    mine = [p for p in projects if caller.project in (None, p.name)]
    return [schemas.Summary(**views.summary(project)) for project in mine]


@router.post("/projects", status_code=201, tags=["projects"])
async def create_project(
    request: Request, new: schemas.NewProject, caller: Admin
) -> schemas.ProjectView:
    """Make a project."""
    service = service_of(request)
    await done(service.create(new.name, new.settings))
    return await run_in_threadpool(_project_view, service.project(new.name))


@router.get("/projects/{project}", tags=["projects"])
def get_project(request: Request, project: InProject, caller: AnyWorker) -> schemas.ProjectView:
    """How a project stands, and how it is run."""
    return _project_view(project_of(request, project))


@router.patch("/projects/{project}", tags=["projects"])
async def change_project(
    request: Request, project: InProject, change: schemas.SettingsChange, caller: Requester
) -> schemas.ProjectView:
    """Change settings: those that are given, also to null."""
    found = project_of(request, project)
    given = change.model_dump(exclude_unset=True)
    await done(service_of(request).change(found, given))
    return await run_in_threadpool(_project_view, found)


def _project_view(project: Project) -> schemas.ProjectView:
    return schemas.ProjectView(**views.summary(project), settings=project.settings)


# Tasks.


@router.post("/projects/{project}/tasks", status_code=201, tags=["tasks"])
async def add_tasks(
    request: Request, project: InProject, new: schemas.NewTasks, caller: Requester
) -> schemas.Added:
    """Add tasks, with what workers see of them, and known answers; those that are there are
    changed."""
    found = project_of(request, project)
    tasks = [task.model_dump() for task in new.tasks]
    return schemas.Added(added=await done(service_of(request).add_tasks(found, tasks)))


@router.get("/projects/{project}/tasks", tags=["tasks"])
def list_tasks(
    request: Request, project: InProject, caller: Requester, offset: Offset = 0, limit: Limit = 100
) -> schemas.Tasks:
    """The tasks, as they were added."""
    found, of = project_of(request, project), tables.tasks.c
    columns = (of.name.label("task"), of.priority, of.closed, of.payload, of.features)
    query = select(*columns).where(of.project == found.id).order_by(of.id)
    with found.store.reading() as connection:
        rows = connection.execute(query.offset(offset).limit(limit)).mappings().all()
        every = select(func.count()).where(of.project == found.id)
        total = connection.execute(every).scalar_one()
    tasks = [
        schemas.TaskRow(
            **{
                k: v and json.loads(v) if k in ("payload", "features") else v
                for k, v in row.items()
            }
        )
        for row in rows
    ]
    return schemas.Tasks(tasks=tasks, **_page(total, offset, len(tasks)))


@router.get("/projects/{project}/tasks/{task:path}/explanation", tags=["answers"])
def explain_task(
    request: Request, project: InProject, task: InName, caller: Requester
) -> dict[str, Any]:
    """Why a task has its answer: what each vote adds to it, and which would change it."""
    found = project_of(request, project)
    with found.lock:
        if found.id_of("task", task) is None:
            raise MissingError(f"There is no task {task!r}.")
    explained: dict[str, Any] = views.result_of(found).explain(task).as_dict()
    return explained


@router.get("/projects/{project}/tasks/{task:path}", tags=["tasks"])
def get_task(request: Request, project: InProject, task: InName, caller: Requester) -> schemas.Task:
    """A task: its votes, its answer, the probability of each class, and what workers see of it."""
    return schemas.Task(**views.task_view(project_of(request, project), task))


@router.patch("/projects/{project}/tasks/{task:path}", tags=["tasks"])
async def change_task(
    request: Request,
    project: InProject,
    task: InName,
    change: schemas.TaskChange,
    caller: Requester,
) -> schemas.Task:
    """Change a task's priority, payload or known answer, close it, or open it again."""
    found = project_of(request, project)
    given = change.model_dump(exclude_unset=True)
    for field in ("priority", "closed"):
        if given.get(field, 0) is None:
            del given[field]
    await done(service_of(request).change_task(found, task, given))
    return await run_in_threadpool(lambda: schemas.Task(**views.task_view(found, task)))


# Workers.


@router.post("/projects/{project}/workers", status_code=201, tags=["workers"])
async def add_workers(
    request: Request, project: InProject, new: schemas.NewWorkers, caller: Requester
) -> schemas.Added:
    """Add workers; those who are there are changed."""
    found = project_of(request, project)
    workers = [worker.model_dump() for worker in new.workers]
    return schemas.Added(added=await done(service_of(request).add_workers(found, workers)))


@router.get("/projects/{project}/workers", tags=["workers"])
def list_workers(
    request: Request, project: InProject, caller: Requester, offset: Offset = 0, limit: Limit = 1000
) -> schemas.Workers:
    """The workers, and how good their votes are."""
    frame = views.workers_frame(project_of(request, project))
    rows = [schemas.Worker(**row) for row in frame.slice(offset, limit).to_dicts()]
    return schemas.Workers(workers=rows, **_page(len(frame), offset, len(rows)))


@router.get("/projects/{project}/workers/{worker:path}", tags=["workers"])
def get_worker(
    request: Request, project: InProject, worker: InName, caller: Requester
) -> schemas.Worker:
    """A worker, and how good their votes are."""
    return schemas.Worker(**views.worker_view(project_of(request, project), worker))


@router.patch("/projects/{project}/workers/{worker:path}", tags=["workers"])
async def change_worker(
    request: Request,
    project: InProject,
    worker: InName,
    change: schemas.WorkerChange,
    caller: Requester,
) -> schemas.Worker:
    """Pause a worker, or say something else of them."""
    found = project_of(request, project)
    given = change.model_dump(exclude_unset=True)
    if given.get("paused", 0) is None:
        del given["paused"]
    await done(service_of(request).change_worker(found, worker, given))
    return await run_in_threadpool(lambda: schemas.Worker(**views.worker_view(found, worker)))


# Answers.


@router.get("/projects/{project}/labels", tags=["answers"])
def list_labels(
    request: Request, project: InProject, caller: Requester, offset: Offset = 0, limit: Limit = 1000
) -> schemas.Labels:
    """The answers, as of now."""
    frame = views.labels_frame(project_of(request, project))
    rows = [schemas.Label(**row) for row in frame.slice(offset, limit).to_dicts()]
    return schemas.Labels(labels=rows, **_page(len(frame), offset, len(rows)))


@router.get("/projects/{project}/posterior", tags=["answers"])
def list_posteriors(
    request: Request, project: InProject, caller: Requester, offset: Offset = 0, limit: Limit = 1000
) -> schemas.Posteriors:
    """The probability of each class of each task, as of now."""
    frame = views.posterior_frame(project_of(request, project))
    rows = [
        schemas.Posterior(task=row.pop("task"), posterior=row)
        for row in frame.slice(offset, limit).to_dicts()
    ]
    return schemas.Posteriors(tasks=rows, **_page(len(frame), offset, len(rows)))


@router.get("/projects/{project}/estimate", tags=["answers"])
def get_estimate(request: Request, project: InProject, caller: Requester) -> schemas.Estimate:
    """The expected error, and the share of each class, with their 90 % intervals."""
    return schemas.Estimate(**views.estimate(project_of(request, project)))


@router.get("/projects/{project}/diagnosis", tags=["answers"])
def get_diagnosis(request: Request, project: InProject, caller: Requester) -> dict[str, Any]:
    """What is wrong with the crowd, and whom to mistrust: as `quorate diagnose --json`."""
    return views.diagnosis(project_of(request, project))


@router.post("/projects/{project}/settle", tags=["answers"])
def settle(request: Request, project: InProject, caller: Requester) -> schemas.Settled:
    """Fit all votes now: the answers are then those of `quorate aggregate`."""
    found = project_of(request, project)
    service_of(request).settle(found)
    return schemas.Settled(votes=found.online.n_votes)


# Files.

What = Literal["votes", "labels", "posterior", "workers"]
FRAMES = {
    "votes": views.votes_frame,
    "labels": views.labels_frame,
    "posterior": views.posterior_frame,
    "workers": views.workers_frame,
}


@router.get(
    "/projects/{project}/export/{what}",
    tags=["files"],
    response_class=Response,
    responses={200: {"content": {kind.partition(";")[0]: {} for kind in views.FORMATS.values()}}},
)
def export(
    request: Request,
    project: InProject,
    what: What,
    caller: Requester,
    format: Literal["csv", "jsonl", "parquet"] = "csv",
) -> Response:
    """Votes, labels, posterior or workers as a file."""
    content = views.as_bytes(FRAMES[what](project_of(request, project)), format)
    name = f'attachment; filename="{project}-{what}.{format}"'
    return Response(
        content, media_type=views.FORMATS[format], headers={"Content-Disposition": name}
    )


@router.post(
    "/projects/{project}/import",
    tags=["files"],
    openapi_extra={
        "requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {}}}}
    },
)
async def import_votes(
    request: Request,
    project: InProject,
    caller: Requester,
    suffix: Annotated[str, Query(pattern=r"^\.[a-z0-9.]{1,20}$")] = ".csv",
) -> schemas.Imported:
    """Take the votes of a file: any that `quorate aggregate` reads, and exports of other tools.
    Votes of workers on tasks on which they have voted are skipped."""
    found, content = project_of(request, project), await request.body()
    if not content:
        raise DataError("The file is empty.")
    votes, gold, notes = await run_in_threadpool(_read, content, suffix)
    service = service_of(request)
    with found.lock:
        new = [vote for vote in votes if found.vote_of(vote[0], vote[1]) is None]
    for start in range(0, len(new), schemas.MOST_VOTES):
        part = new[start : start + schemas.MOST_VOTES]
        await done(service.vote(found, part, sender=caller.name))
    known = await done(service.know(found, gold)) if gold else 0
    skipped = len(votes) - len(new)
    return schemas.Imported(votes=len(new), skipped=skipped, known_answers=known, notes=notes)


def _read(content: bytes, suffix: str) -> tuple[list[Any], list[Any], list[str]]:
    """The votes of a file, known answers in it, and what is to be said of it."""
    from quorate.votes import read_votes

    with tempfile.TemporaryDirectory(prefix="quorate-import-") as place:
        path = Path(place) / f"upload{suffix}"
        path.write_bytes(content)
        try:
            read = read_votes(str(path), repeats="last")
        except DataError as error:
            raise DataError(str(error).replace(str(path), "The file")) from None
        labels, book = read.labels, read.codebook
        tasks = pl.Series(range(labels.n_tasks)).gather(_task_of(labels))
        columns = (
            book.tasks.gather(tasks),
            book.workers.gather(labels.worker),
            book.classes.gather(labels.label),
        )
        for role, names in zip(ROLES, (book.tasks, book.workers, book.classes), strict=True):
            _require_names(role, names.cast(pl.Utf8).to_list())
        rows = list(zip(*(column.cast(pl.Utf8).to_list() for column in columns), strict=True))
        gold: list[Any] = []
        if read.known is not None:
            of = (read.known.tasks.cast(pl.Utf8), read.known.labels.cast(pl.Utf8))
            gold = list(zip(*(column.to_list() for column in of), strict=True))
            _require_names("task", of[0].to_list())
            _require_names("label", of[1].to_list())
        return rows, gold, list(read.notes)


def _require_names(role: str, names: list[str]) -> None:
    """Refuse names that no request could have."""
    for name in names:
        try:
            NAME.validate_python(name)
        except ValidationError as error:
            why = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
            raise DataError(f"The {role} {shown(name[:80])} cannot be taken: {why}.") from None


def _task_of(labels: Any) -> Any:
    import numpy as np

    return np.repeat(np.arange(labels.n_tasks), np.diff(labels.indptr))


# Label Studio.


@router.post("/projects/{project}/label-studio", tags=["files"])
async def label_studio(
    request: Request, project: InProject, event: schemas.LabelStudioEvent, caller: Requester
) -> schemas.Heard:
    """Take an event of a Label Studio webhook: an annotation that was created, updated or deleted.
    Others are answered, and change nothing."""
    service, found = service_of(request), project_of(request, project)
    if event.action == "ANNOTATIONS_DELETED":
        pairs = await run_in_threadpool(_annotated, found, event.annotations or [])
        if pairs:
            await done(service.withdraw(found, pairs, sender=caller.name))
        return schemas.Heard(votes=len(pairs))
    if event.action not in ("ANNOTATION_CREATED", "ANNOTATION_UPDATED"):
        return schemas.Heard(votes=0)
    if not event.task or not event.annotation:
        raise DataError("The event lacks its task or its annotation: send the payload too.")
    record = {**event.task, "annotations": [event.annotation], "predictions": []}
    votes, gold, _ = await run_in_threadpool(_read, json.dumps([record]).encode(), ".json")
    with found.lock:
        there = [vote for vote in votes if found.vote_of(vote[0], vote[1]) is not None]
    new = [vote for vote in votes if vote not in there]
    key = f"label-studio-{event.annotation.get('id')}"
    if new:
        await done(service.vote(found, new, key=key, sender=caller.name))
    if there and event.action == "ANNOTATION_UPDATED":
        again = f"{key}-{event.annotation.get('updated_at')}"
        await done(service.vote(found, there, key=again, sender=caller.name, correct=True))
    if gold:
        await done(service.know(found, gold))
    return schemas.Heard(votes=len(votes))


def _annotated(project: Project, annotations: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The tasks and workers of annotations that were taken, and whose votes are still there."""
    frame, pairs = views.votes_by_id(project), []
    for annotation in annotations:
        for first, size in project.votes_under(f"label-studio-{annotation.get('id')}"):
            pairs += [frame[id] for id in range(first, first + size) if id in frame]
    return pairs


# Changes as they happen.


@router.get(
    "/projects/{project}/events",
    tags=["events"],
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}},
)
async def events(
    request: Request,
    project: InProject,
    caller: Requester,
    last: Annotated[int, Query(ge=0, description="Events to send before it ends; 0: all.")] = 0,
) -> StreamingResponse:
    """How the project stands, whenever that changes: server-sent events named `change`."""
    found = project_of(request, project)
    return StreamingResponse(_changes(request, found, last), media_type="text/event-stream")


async def _changes(request: Request, project: Project, last: int) -> AsyncIterator[str]:
    seen, sent, quiet = -1, 0, 0.0
    stopping: asyncio.Event = request.app.state.stopping
    while not stopping.is_set() and not await request.is_disconnected():
        if project.version != seen:
            seen, quiet = project.version, 0.0
            summary = await run_in_threadpool(views.summary, project)
            yield f"id: {seen}\nevent: change\ndata: {json.dumps(summary)}\n\n"
            sent += 1
            if sent == last:
                return
        elif quiet >= HEARTBEAT:
            quiet = 0.0
            yield ": still here\n\n"
        quiet += POLL
        try:
            await asyncio.wait_for(stopping.wait(), POLL)
        except TimeoutError:
            continue


def _page(total: int, offset: int, n: int) -> dict[str, Any]:
    end = offset + n
    return {"total": total, "next": end if end < total and n else None}
