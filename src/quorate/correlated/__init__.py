"""Workers whose errors move together: who they are, and what their votes count."""

from quorate.correlated.finding import Independence, Look, independence, look
from quorate.correlated.groups import Group, Groups, number_of, voices

__all__ = [
    "Group",
    "Groups",
    "Independence",
    "Look",
    "independence",
    "look",
    "number_of",
    "voices",
]
