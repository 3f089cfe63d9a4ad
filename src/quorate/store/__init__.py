"""Votes on disk in blocks of whole tasks: for those larger than memory, or than the machine."""

from quorate.store.directory import Store, StoredBlocks, StoredStates
from quorate.store.filling import Source, fill
from quorate.store.sizes import Sizes, in_bytes, in_words

__all__ = [
    "Sizes",
    "Source",
    "Store",
    "StoredBlocks",
    "StoredStates",
    "fill",
    "in_bytes",
    "in_words",
]
