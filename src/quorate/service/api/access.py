"""Who asks, and what they may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from quorate.service.failures import ForbiddenError, UnknownCallerError
from quorate.votes import shown

ROLES = ("worker", "requester", "admin")  # each may do what those before may


@dataclass(frozen=True)
class Caller:
    """Whoever asks: their role, and what they are bound to."""

    name: str
    role: str
    project: str | None = None
    worker: str | None = None

    def may(self, role: str) -> bool:
        """Whether they may do what is for a role."""
        return ROLES.index(self.role) >= ROLES.index(role)

    def require_project(self, project: str) -> None:
        """Refuse another project than theirs."""
        if self.project is not None and self.project != project:
            raise ForbiddenError(f"This token is for project {shown(self.project)}.")

    def require_worker(self, worker: str) -> None:
        """Refuse to act for another worker than themselves."""
        if self.role == "worker" and self.worker is not None and self.worker != worker:
            raise ForbiddenError(f"This token is for worker {shown(self.worker)}.")


LOCAL = Caller("local", "admin")  # whoever reaches a server that has no tokens


def caller_of(request: Request) -> Caller:
    """Whoever asks."""
    caller: Caller | None = request.scope.get("quorate.caller")
    if caller is None:
        raise UnknownCallerError("Say who you are: Authorization: Bearer TOKEN.")
    return caller


class Allow:
    """The least role that a route is for."""

    def __init__(self, role: str) -> None:
        self.role = role

    async def __call__(self, request: Request) -> Caller:
        caller = caller_of(request)
        if not caller.may(self.role):
            raise ForbiddenError(f"This is for a {self.role}, not for a {caller.role}.")
        project = request.path_params.get("project")
        if project is not None:
            caller.require_project(project)
        return caller


AnyWorker = Annotated[Caller, Depends(Allow("worker"))]
Requester = Annotated[Caller, Depends(Allow("requester"))]
Admin = Annotated[Caller, Depends(Allow("admin"))]
