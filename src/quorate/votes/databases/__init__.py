"""Votes in databases, and results into them: SQLite, DuckDB and PostgreSQL."""

from quorate.votes.databases.address import Address, asked, is_database
from quorate.votes.databases.reading import Query
from quorate.votes.databases.writing import Tables, output_table

__all__ = ["Address", "Query", "Tables", "asked", "is_database", "output_table"]
