"""Correlated workers: who they are, and how far their votes are discounted."""

from quorate.trust.correlated.agreement import pairs_to_test as pairs_to_test
from quorate.trust.correlated.finding import MOST_LABELS as MOST_LABELS
from quorate.trust.correlated.finding import CorrelationFit as CorrelationFit
from quorate.trust.correlated.finding import Independence as Independence
from quorate.trust.correlated.finding import fit_groups as fit_groups
from quorate.trust.correlated.finding import groups_among as groups_among
from quorate.trust.correlated.finding import independence as independence
from quorate.trust.correlated.groups import Group as Group
from quorate.trust.correlated.groups import Groups as Groups
from quorate.trust.correlated.groups import discount_note as discount_note
from quorate.trust.correlated.groups import discounted as discounted
from quorate.trust.correlated.groups import group_column as group_column
from quorate.trust.correlated.groups import group_numbers as group_numbers
from quorate.trust.correlated.groups import representatives as representatives
from quorate.trust.correlated.groups import vote_weights as vote_weights
