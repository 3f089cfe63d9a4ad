"""What goes over the wire."""

from __future__ import annotations

from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,  # as pydantic needs them before Python 3.12
)

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from typing_extensions import TypedDict

from quorate.service.settings import Name, ProjectName, Settings

MOST_VOTES, MOST_TASKS = 10_000, 10_000  # of a request

Key = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="Whatever is sent again under the same key is taken once.",
    ),
]


class Wire(BaseModel):
    """Nothing that is not known, no infinities."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Error(BaseModel):
    """What went wrong, in a sentence."""

    error: str


class NewProject(Wire):
    """A project to be made."""

    name: ProjectName
    settings: Settings = Settings()


class SettingsChange(Wire):
    """Settings that are to change; the others stay."""

    title: str | None = Field(default=None, max_length=200)
    instructions: str | None = Field(default=None, max_length=20_000)
    target_confidence: float | None = Field(default=None, gt=0, lt=1)
    target_error: float | None = Field(default=None, gt=0, lt=1)
    budget: float | None = Field(default=None, ge=0)
    cost: float | None = Field(default=None, ge=0)
    least_votes: int | None = Field(default=None, ge=1, le=1000)
    most_votes: int | None = Field(default=None, ge=1, le=100_000)
    lease_seconds: float | None = Field(default=None, ge=1, le=604_800)
    gold_rate: float | None = Field(default=None, ge=0, le=1)
    open_tasks: bool | None = None
    open_workers: bool | None = None
    settle_seconds: float | None = Field(default=None, ge=1, le=86_400)
    label_studio: int | None = Field(default=None, ge=1)


class Summary(BaseModel):
    """How a project stands."""

    project: str
    title: str
    version: int = Field(description="Grows with every change.")
    tasks: int
    tasks_with_votes: int
    open_tasks: int = Field(description="Tasks that further votes are asked for.")
    votes: int
    workers: int
    classes: list[str]
    known_answers: int
    handed_out: int
    spent: float
    budget: float | None
    expected_error: float | None
    settled: bool = Field(description="Whether all votes are in the last fit.")
    stopped: str | None = Field(description="Why no more votes are asked for.")
    archived: bool


class ProjectView(Summary):
    """How a project stands, and how it is run."""

    settings: Settings


class NewTask(Wire):
    """A task; one that is there is changed."""

    task: Name
    payload: Any = Field(default=None, description="What workers see: text, or {text, image, ...}.")
    features: dict[Name, bool | int | float | str] | None = Field(default=None, max_length=200)
    priority: float | None = Field(
        default=None, ge=-1000, le=1000, description="Higher ones come first."
    )
    gold: Name | None = Field(default=None, description="The answer, if it is known.")


class NewTasks(Wire):
    """Tasks to be added."""

    tasks: list[NewTask] = Field(min_length=1, max_length=MOST_TASKS)


class TaskChange(Wire):
    """What is to change; a gold of null takes the known answer back."""

    payload: Any = None
    features: dict[Name, bool | int | float | str] | None = Field(default=None, max_length=200)
    priority: float | None = Field(default=None, ge=-1000, le=1000)
    closed: bool | None = None
    gold: Name | None = None


class Said(BaseModel):
    """A vote on a task."""

    worker: str
    label: str


class Task(BaseModel):
    """Everything of a task."""

    task: str
    label: str | None
    confidence: float | None
    posterior: dict[str, float] | None
    votes: list[Said]
    gold: str | None
    priority: float
    closed: bool
    payload: Any
    features: Any


class NewWorker(Wire):
    """A worker; one who is there is changed."""

    worker: Name
    kind: Name | None = None
    cost: float | None = Field(default=None, ge=0)
    capacity: int | None = Field(default=None, ge=0, le=10**9)
    paused: bool = False
    alias: Name | None = Field(default=None, description="The name that pages show.")


class NewWorkers(Wire):
    """Workers to be added."""

    workers: list[NewWorker] = Field(min_length=1, max_length=MOST_TASKS)


class WorkerChange(Wire):
    """What is to change of a worker."""

    kind: Name | None = None
    cost: float | None = Field(default=None, ge=0)
    capacity: int | None = Field(default=None, ge=0, le=10**9)
    paused: bool | None = None
    alias: Name | None = None


class Worker(BaseModel):
    """A worker, and how good their votes are, with a 95 % interval."""

    worker: str
    votes: int
    accuracy: float | None
    low: float
    high: float
    handed_out: int
    kind: str | None
    cost: float | None
    capacity: int | None
    paused: bool
    alias: str | None


class NewVote(Wire):
    """What a worker says of a task."""

    task: Name
    worker: Name
    label: Name


class NewVotes(Wire):
    """Votes that are counted together: all, or none."""

    votes: list[NewVote] = Field(min_length=1, max_length=MOST_VOTES)
    key: Key | None = None


class _Vote(TypedDict):
    task: Name
    worker: Name
    label: Name


class _Votes(TypedDict):
    votes: Annotated[list[_Vote], Field(min_length=1, max_length=MOST_VOTES)]
    key: NotRequired[Key | None]


_Vote.__pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[attr-defined]
_Votes.__pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[attr-defined]
# The same as `NewVotes`, in dictionaries, which takes half the time.
NEW_VOTES: TypeAdapter[_Votes] = TypeAdapter(_Votes)


class Withdrawn(Wire):
    """A vote that is to be taken back."""

    task: Name
    worker: Name


class Withdrawals(Wire):
    """Votes that are to be taken back."""

    votes: list[Withdrawn] = Field(min_length=1, max_length=MOST_VOTES)
    key: Key | None = None


class Taken(BaseModel):
    """What was taken: so many votes, numbered from the first."""

    votes: int
    first: int
    repeated: bool = Field(description="Whether the same request was taken before.")


class Added(BaseModel):
    """How many are new."""

    added: int


class Handout(BaseModel):
    """A task to label, and for how long it waits."""

    task: str
    payload: Any
    seconds: float


class Next(BaseModel):
    """Tasks for a worker; if there are none, why."""

    tasks: list[Handout]
    reason: str | None


class Label(BaseModel):
    """The answer to a task."""

    task: str
    label: str
    confidence: float
    votes: int


class Page(BaseModel):
    """Where a list goes on."""

    total: int
    next: int | None = Field(description="The offset to go on with.")


class Labels(Page):
    """Answers, in the order in which tasks got their first votes."""

    labels: list[Label]


class Workers(Page):
    """Workers, in the order in which they came."""

    workers: list[Worker]


class TaskRow(BaseModel):
    """A task in a list."""

    task: str
    priority: float
    closed: bool
    payload: Any
    features: Any


class Tasks(Page):
    """Tasks, in the order in which they came."""

    tasks: list[TaskRow]


class Posterior(BaseModel):
    """The probability of each class."""

    task: str
    posterior: dict[str, float]


class Posteriors(Page):
    """The probability of each class of each task."""

    tasks: list[Posterior]


class Imported(BaseModel):
    """What was read from a file."""

    votes: int
    skipped: int = Field(description="Votes of workers on tasks on which they had voted.")
    known_answers: int
    notes: list[str]


class LabelStudioEvent(BaseModel):
    """What a webhook of Label Studio sends; what is not needed of it is left out."""

    action: str = Field(max_length=100)
    task: dict[str, Any] | None = None
    annotation: dict[str, Any] | None = None
    annotations: list[dict[str, Any]] | None = Field(default=None, max_length=10_000)


class Heard(BaseModel):
    """How many votes an event was about."""

    votes: int


class Share(BaseModel):
    """The share of a class, with its 90 % interval."""

    label: str
    share: float
    low: float
    high: float


class ErrorRate(BaseModel):
    """The expected share of wrong answers, with its 90 % interval."""

    error: float
    low: float
    high: float


class Estimate(BaseModel):
    """What the votes say of all tasks together."""

    method: str
    expected_error: ErrorRate
    classes: list[Share]


class Settled(BaseModel):
    """All votes were fitted."""

    votes: int


class Health(BaseModel):
    """Whether the server works."""

    status: Literal["ok", "unavailable"]
    leads: bool | None = None
    detail: str | None = None
