"""Workers whose errors move together: who they are, and what their votes count."""

from quorate.trust.correlated.agreement import meet
from quorate.trust.correlated.finding import Independence, Look, groups_among, independence, look
from quorate.trust.correlated.groups import (
    Group,
    Groups,
    discounted,
    group_column,
    note_on,
    number_of,
    voices,
    vote_weights,
)

__all__ = [
    "Group",
    "Groups",
    "Independence",
    "Look",
    "discounted",
    "group_column",
    "groups_among",
    "independence",
    "look",
    "meet",
    "note_on",
    "number_of",
    "voices",
    "vote_weights",
]
