"""The routes of the pages."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from functools import cache
from importlib.resources import files
from itertools import count
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import parse_qsl, quote

from fastapi import APIRouter, Request
from fastapi import Path as InPath
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic import ValidationError

from quorate.errors import DataError
from quorate.service import views
from quorate.service.api.access import Admin, AnyWorker, Caller, Requester
from quorate.service.api.gate import COOKIE
from quorate.service.api.routes import done, project_of, service_of
from quorate.service.api.schemas import NewProject, SettingsChange
from quorate.service.api.told import sentence_of
from quorate.service.failures import ForbiddenError, MissingError, UnknownCallerError
from quorate.service.page import content
from quorate.service.settings import Name, ProjectName, Settings

if TYPE_CHECKING:
    from jinja2 import Environment

router = APIRouter(include_in_schema=False)
InProject = Annotated[ProjectName, InPath()]
KINDS = {"style.css": "text/css", "live.js": "text/javascript", "label.js": "text/javascript"}
KEY = secrets.token_bytes(32)  # forms are good for as long as the server runs
LARGEST_FORM = 1_000_000


@cache
def environment() -> Environment:
    """Templates, in which everything is escaped; slow to import."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    from quorate.report.page import charts
    from quorate.report.page.numbers import number, share, slug

    made = Environment(
        loader=FunctionLoader(_own),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"share": share, "number": number, "slug": slug}
    made.globals["charts"] = charts
    return made


def _own(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def page(name: str, caller: Caller | None, **shown: Any) -> HTMLResponse:
    """A page of a template."""
    template = environment().get_template(f"{name}.html")
    token = csrf(caller) if caller is not None else ""
    return HTMLResponse(template.render(caller=caller, csrf=token, **shown))


# Forms.


def csrf(caller: Caller) -> str:
    """What a form of this caller's carries, which no other site knows."""
    who = f"{caller.role} {caller.name} {caller.project} {caller.worker}"
    return hmac.new(KEY, who.encode(), hashlib.sha256).hexdigest()


async def form_of(request: Request, caller: Caller | None) -> dict[str, str]:
    """The fields of a form that one of these pages has sent."""
    body = await request.body()
    if len(body) > LARGEST_FORM:
        raise DataError("The form is too long.")
    try:
        fields = dict(parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=bool(body)))
    except ValueError:
        raise DataError("That is no form.") from None
    if caller is not None:
        given = fields.pop("csrf", "")
        if not hmac.compare_digest(given.encode(), csrf(caller).encode()):
            raise ForbiddenError("The form is too old: load the page again.")
    return fields


# What is there for everybody.


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """Style and scripts."""
    if name not in KINDS:
        raise MissingError("There is no such file.")
    text = _own(name)
    if name == "style.css":
        report = files("quorate.report.page").joinpath("templates", "style.css")
        text = report.read_text(encoding="utf-8") + text
    headers = {"Cache-Control": "public, max-age=300"}
    return Response(text, media_type=KINDS[name], headers=headers)


@router.get("/login")
async def login() -> Response:
    """Where a token is entered."""
    return page("login", None, wrong=False)


@router.post("/login")
async def enter(request: Request) -> Response:
    """Keep a token that is valid in a cookie that scripts and other sites do not see."""
    token = (await form_of(request, None)).get("token", "").strip()
    caller = request.app.state.gate.tokens.caller(token)
    if caller is None:
        raise UnknownCallerError("There is no such token.")
    answer = RedirectResponse("/", 303)
    secure = request.url.scheme == "https"
    answer.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=secure)
    return answer


@router.post("/logout")
async def leave(request: Request, caller: AnyWorker) -> Response:
    """Forget the token."""
    await form_of(request, caller)
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(COOKIE)
    return answer


# Projects.


def _projects(request: Request, caller: Caller) -> dict[str, Any]:
    mine = [p for p in service_of(request).projects.values() if caller.project in (None, p.name)]
    return {"projects": [views.summary(project) for project in mine]}


@router.get("/")
def home(request: Request, caller: AnyWorker) -> Response:
    """The projects."""
    shown = _projects(request, caller)
    if caller.role == "worker" and len(shown["projects"]) == 1:
        return RedirectResponse(f"/projects/{shown['projects'][0]['project']}/label", 303)
    return page("projects", caller, **shown)


@router.get("/index.json")
def home_json(request: Request, caller: AnyWorker) -> Response:
    """The same."""
    return JSONResponse(_projects(request, caller))


@router.post("/projects")
async def new_project(request: Request, caller: Admin) -> Response:
    """Make a project; a line is a class."""
    fields = await form_of(request, caller)
    classes = _lines(fields.get("classes", ""))
    about = {"title": fields.get("title", ""), "instructions": fields.get("instructions", "")}
    try:
        settings = Settings.model_validate({**about, "classes": classes or None})
        name = NewProject(name=fields.get("name", "").strip()).name
    except ValidationError as error:
        raise DataError(sentence_of(error.errors())) from None
    await done(service_of(request).create(name, settings))
    return RedirectResponse(f"/projects/{name}", 303)


@router.post("/projects/{project}/tasks")
async def new_tasks(request: Request, project: InProject, caller: Requester) -> Response:
    """Add tasks; a line is a task, which is called by its number."""
    texts = _lines((await form_of(request, caller)).get("tasks", ""))
    if not texts:
        raise DataError("There is nothing in it: write a task on each line.")
    found = project_of(request, project)
    with found.lock:
        numbers = map(str, count(len(found.ranking) + 1))
        free = (number for number in numbers if found.id_of("task", number) is None)
        named = list(zip(free, texts, strict=False))
    tasks = [{"task": number, "payload": _payload(text)} for number, text in named]
    await done(service_of(request).add_tasks(found, tasks))
    return RedirectResponse(f"/projects/{project}", 303)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _payload(line: str) -> dict[str, str]:
    """A text, or an image by its address."""
    return {"image" if re.fullmatch(r"https?://\S+", line) else "text": line}


@router.get("/projects/{project}/label")
def label(request: Request, project: InProject, caller: AnyWorker) -> Response:
    """Where a worker labels."""
    return page("label", caller, **_labelling(request, project, caller))


@router.get("/projects/{project}/label.json")
def label_json(request: Request, project: InProject, caller: AnyWorker) -> Response:
    """What the page is told."""
    return JSONResponse(_labelling(request, project, caller))


def _labelling(request: Request, name: str, caller: Caller) -> dict[str, Any]:
    project = project_of(request, name)
    with project.lock:
        classes = list(project.settings.classes or project.names("label").kept)
    return {
        "project": name,
        "title": project.settings.title or name,
        "instructions": project.settings.instructions,
        "classes": classes,
        "worker": caller.worker,
    }


@router.get("/projects/{project}/workers/{worker:path}.json")
def one_worker_json(
    request: Request, project: InProject, worker: Annotated[Name, InPath()], caller: Requester
) -> Response:
    """A worker."""
    return JSONResponse(content.worker(project_of(request, project), worker))


@router.get("/projects/{project}/workers/{worker:path}")
def one_worker(
    request: Request, project: InProject, worker: Annotated[Name, InPath()], caller: Requester
) -> Response:
    """A worker."""
    shown = content.worker(project_of(request, project), worker)
    return page("worker", caller, here="workers", **shown)


@router.post("/projects/{project}/workers/{worker:path}")
async def pause(
    request: Request, project: InProject, worker: Annotated[Name, InPath()], caller: Requester
) -> Response:
    """Pause a worker, or let them go on."""
    fields = await form_of(request, caller)
    found = project_of(request, project)
    paused = fields.get("paused") == "yes"
    await done(service_of(request).change_worker(found, worker, {"paused": paused}))
    return RedirectResponse(f"/projects/{project}/workers/{quote(worker, safe='')}", 303)


@router.post("/projects/{project}/settings")
async def change_settings(request: Request, project: InProject, caller: Requester) -> Response:
    """Other settings."""
    fields = await form_of(request, caller)
    nullable = ("target_confidence", "target_error", "budget", "most_votes")
    given = {k: v or None if k in nullable else v for k, v in fields.items()}
    try:
        change = SettingsChange.model_validate(given)
    except ValidationError as error:
        raise DataError(sentence_of(error.errors())) from None
    found = project_of(request, project)
    await done(service_of(request).change(found, change.model_dump(exclude_unset=True)))
    return RedirectResponse(f"/projects/{project}/settings", 303)


@router.get("/projects/{project}/{name}.json")
def any_json(request: Request, project: InProject, name: str, caller: Requester) -> Response:
    """What a page shows."""
    return JSONResponse(_content(request, project, name))


@router.get("/projects/{project}")
def overview(request: Request, project: InProject, caller: Requester) -> Response:
    """How the project stands."""
    return page("overview", caller, here="overview", **_content(request, project, "overview"))


@router.get("/projects/{project}/{name}")
def any_page(request: Request, project: InProject, name: str, caller: Requester) -> Response:
    """One of the pages of a project."""
    return page(name, caller, here=name, **_content(request, project, name))


def _content(request: Request, project: str, name: str) -> dict[str, Any]:
    if name not in content.PAGES:
        raise MissingError("There is no such page.")
    return content.PAGES[name](project_of(request, project))
