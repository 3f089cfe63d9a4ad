"""Where the next votes should go."""

from quorate.assign.forest import Forest
from quorate.assign.plan import Assignment, next_tasks

__all__ = ["Assignment", "Forest", "next_tasks"]
