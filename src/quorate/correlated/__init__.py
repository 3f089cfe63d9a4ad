"""Workers whose errors move together: who they are, and what their votes count."""

from quorate.correlated.groups import Group
from quorate.correlated.independence import Independence, Look, crowd_like, independence, look

__all__ = ["Group", "Independence", "Look", "crowd_like", "independence", "look"]
