"""Correlated workers: who they are, and how far their votes are discounted."""

from quorate.trust.correlated.agreement import pairs_to_test
from quorate.trust.correlated.finding import (
    CorrelationFit,
    Independence,
    fit_groups,
    groups_among,
    independence,
)
from quorate.trust.correlated.groups import (
    Group,
    Groups,
    discount_note,
    discounted,
    group_column,
    group_numbers,
    representatives,
    vote_weights,
)

__all__ = [
    "CorrelationFit",
    "Group",
    "Groups",
    "Independence",
    "discount_note",
    "discounted",
    "fit_groups",
    "group_column",
    "group_numbers",
    "groups_among",
    "independence",
    "pairs_to_test",
    "representatives",
    "vote_weights",
]
