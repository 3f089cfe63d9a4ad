"""Votes on disk in blocks of whole tasks, for votes larger than memory or than a machine."""

from quorate.votes.store.blocks import StoredBlocks, spill
from quorate.votes.store.copying import stored_query
from quorate.votes.store.directory import Store
from quorate.votes.store.filling import Progress, Source, Storage, fill, stored_votes
from quorate.votes.store.sizes import (
    Sizes,
    available_memory,
    filling_threads,
    in_bytes,
    in_words,
)

__all__ = [
    "Progress",
    "Sizes",
    "Source",
    "Storage",
    "Store",
    "StoredBlocks",
    "available_memory",
    "fill",
    "filling_threads",
    "in_bytes",
    "in_words",
    "spill",
    "stored_query",
    "stored_votes",
]
