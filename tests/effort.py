"""How often a check is repeated: with `make thorough` more often than before each change."""

from __future__ import annotations

import os

THOROUGH = os.environ.get("QUORATE_TESTS") == "thorough"


def seeds(few: int, many: int) -> range:
    return range(many if THOROUGH else few)
