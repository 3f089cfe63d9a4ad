"""Where the next votes should go."""

from quorate.assignment.forest import Forest
from quorate.assignment.plan import Assignment, next_tasks

__all__ = ["Assignment", "Forest", "next_tasks"]
