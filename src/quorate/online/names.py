"""Names and their codes, in the order in which they first came."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from quorate.errors import DataError
from quorate.kernels import Codes
from quorate.votes import shown


class Names:
    """All of one type, so that a table can hold them: numbers, or text."""

    def __init__(self, role: str, names: Iterable[Any] = (), closed: bool = False) -> None:
        self.role = role
        self.closed = closed
        self.names = list(names)
        self._codes = {name: code for code, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def require(self, name: Any) -> int:
        code = self._codes.get(name)
        if code is None:
            raise DataError(f"There is no vote of {self.role} {shown(name)}.")
        return code

    def look_up(self, names: Sequence[Any]) -> list[int]:
        """The codes of names, -1 for a new one; every new one is known to be fit for a code."""
        found = list(map(self._codes.get, names, repeat(-1)))
        if -1 in found:
            self._require_all_fit([names[i] for i, code in enumerate(found) if code < 0])
        return found

    def look_up_many(self, names: Sequence[Any]) -> Codes:
        """The same as an array."""
        found = np.fromiter(map(self._codes.get, names, repeat(-1)), np.int32, len(names))
        self._require_all_fit([names[i] for i in np.flatnonzero(found < 0).tolist()])
        return found

    def complete(self, names: Sequence[Any], codes: list[int] | Codes) -> None:
        """Give new names codes, in place of the -1 that looking up found."""
        if isinstance(codes, np.ndarray):
            new = np.flatnonzero(codes < 0).tolist()
        else:
            new = [i for i, code in enumerate(codes) if code < 0] if -1 in codes else []
        for i in new:
            codes[i] = self._codes.setdefault(names[i], len(self.names))
            if codes[i] == len(self.names):
                self.names.append(names[i])

    def _require_all_fit(self, new: Sequence[Any]) -> None:
        for name in dict.fromkeys(new):
            self._require_fit(name, like=self.names[0] if self.names else new[0])

    def _require_fit(self, name: Any, like: Any) -> None:
        if name is None or name != name or name == "":
            raise DataError(f"A vote has no {self.role}.")
        if self.closed:
            known = ", ".join(map(shown, self.names))
            raise DataError(f"There is no {self.role} {shown(name)}: there are {known}.")
        if type(name) is not type(like):
            raise DataError(
                f"The {self.role} {shown(name)} is not of the kind of {shown(like)}:"
                f" name every {self.role} in numbers, or every one in words."
            )
