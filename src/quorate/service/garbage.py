"""When Python looks for garbage: not while a server starts, and then not at what a start made.

To find objects that only refer to each other, Python stops everything and goes through all there
are. A start makes many that stay, and so costs a quarter less without; and afterwards whoever asks
would wait for these to be gone through, again and again.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def unlooked_for() -> Iterator[None]:
    """Nobody looks for garbage meanwhile; what is there in the end stays, and is not looked at."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()
