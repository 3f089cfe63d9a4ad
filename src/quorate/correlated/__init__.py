"""Workers whose errors move together: who they are, and what their votes count."""

from quorate.correlated.agreement import meet
from quorate.correlated.finding import Independence, Look, groups_among, independence, look
from quorate.correlated.groups import Group, Groups, group_column, number_of, voices, vote_weights

__all__ = [
    "Group",
    "Groups",
    "Independence",
    "Look",
    "group_column",
    "groups_among",
    "independence",
    "look",
    "meet",
    "number_of",
    "voices",
    "vote_weights",
]
