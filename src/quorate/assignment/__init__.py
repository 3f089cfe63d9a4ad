"""Where the next votes should go."""

from quorate.assignment.forest import Forest
from quorate.assignment.plan import Assigning, Assignment, assign

__all__ = ["Assigning", "Assignment", "Forest", "assign"]
