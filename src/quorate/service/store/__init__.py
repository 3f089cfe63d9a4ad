"""What the server keeps, in SQLite or PostgreSQL."""

from quorate.service.store.database import Store, is_postgresql
from quorate.service.store.votes import ProjectVotes

__all__ = ["ProjectVotes", "Store", "is_postgresql"]
