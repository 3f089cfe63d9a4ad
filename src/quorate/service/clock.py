"""The two clocks of a server, so that tests can move them."""

from __future__ import annotations

import time


class Clock:
    """What time it is, for people, and how much has passed, which no change of the time touches."""

    def wall_ms(self) -> int:
        """Milliseconds since 1970."""
        return int(time.time() * 1000)

    def passed(self) -> float:
        """Seconds since some moment; never goes back."""
        return time.monotonic()
