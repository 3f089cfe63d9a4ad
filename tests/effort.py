"""How often a check is repeated: with `make thorough` more often than before each change."""

from __future__ import annotations

import os

THOROUGH = os.environ.get("QUORATE_TESTS") == "thorough"


def times(few: int, many: int) -> int:
    return many if THOROUGH else few


def seeds(few: int, many: int) -> range:
    return range(times(few, many))
