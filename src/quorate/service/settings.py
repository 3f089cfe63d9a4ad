"""What a project is told, and what it goes by where it is told nothing."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Method = Literal["auto", "dawid-skene", "fast-dawid-skene", "hybrid", "one-coin"]


def _require_printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("a name has no control characters")
    if text != text.strip():
        raise ValueError("a name does not begin or end with a space")
    return text


def _require_once(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        raise ValueError("a class is named twice")
    return names


# A name of a task, a worker or a class.
LONGEST_NAME = 500
Name = Annotated[
    str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(_require_printable)
]


def is_name(text: str) -> bool:
    """Whether it is a `Name`."""
    return 0 < len(text) <= LONGEST_NAME and text.isprintable() and text == text.strip()


ProjectName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=64,
        pattern=r"^[a-zA-Z0-9][a-zA-Z0-9._-]*$",
        description="Letters, digits, dots, dashes and underscores: it is part of addresses.",
    ),
]


class Settings(BaseModel):
    """How a project is run. What is left out has its default."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    classes: Annotated[tuple[Name, ...], AfterValidator(_require_once)] | None = Field(
        default=None, max_length=1000, description="The labels there are; any, if none are given."
    )
    method: Method = Field(default="auto", description="How votes are aggregated.")
    title: str = Field(
        default="", max_length=200, description="What workers see of the project's name."
    )
    instructions: str = Field(default="", max_length=20_000, description="What workers are told.")
    target_confidence: float | None = Field(
        default=0.95, gt=0, lt=1, description="A task this sure needs no further votes."
    )
    target_error: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="No more votes when the expected share of errors is so low.",
    )
    budget: float | None = Field(default=None, ge=0, description="What all votes may cost.")
    cost: float = Field(
        default=1.0, ge=0, description="What a vote costs, unless its worker has a price."
    )
    least_votes: int = Field(
        default=1, ge=1, le=1000, description="Votes a task gets however sure it is."
    )
    most_votes: int | None = Field(
        default=None, ge=1, le=100_000, description="A task with so many gets no further ones."
    )
    lease_seconds: float = Field(
        default=600,
        ge=1,
        le=604_800,
        description="How long a task that was handed out waits for its vote.",
    )
    gold_rate: float = Field(
        default=0.05, ge=0, le=1, description="Share of tasks handed out whose answer is known."
    )
    open_tasks: bool = Field(
        default=True, description="Whether a vote on an unknown task adds the task."
    )
    open_workers: bool = Field(
        default=True, description="Whether a vote of an unknown worker adds them."
    )
    settle_seconds: float = Field(
        default=30,
        ge=1,
        le=86_400,
        description="How often all votes are fitted anew, if there are more.",
    )
    label_studio: int | None = Field(
        default=None,
        ge=1,
        description="Number of the Label Studio project that answers are pushed to.",
    )
