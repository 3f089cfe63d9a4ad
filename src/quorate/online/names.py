"""Names and their codes, in the order in which they first came."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from quorate.errors import DataError
from quorate.io import shown
from quorate.kernels import Codes


class Names:
    """All of one type, so that a table can hold them: numbers, or text."""

    def __init__(self, role: str, names: Iterable[Any] = (), closed: bool = False) -> None:
        self.role = role
        self.closed = closed
        self.names = list(names)
        self._codes = {name: code for code, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def find(self, name: Any) -> int | None:
        return self._codes.get(name)

    def require(self, name: Any) -> int:
        code = self._codes.get(name)
        if code is None:
            raise DataError(f"There is no vote of {self.role} {shown(name)}.")
        return code

    def code(self, name: Any) -> int:
        """The name's code, a new one if need be."""
        code = self._codes.get(name)
        return self._new(name) if code is None else code

    def codes(self, names: Sequence[Any]) -> Codes:
        get = self._codes.get
        found = [get(name, -1) for name in names]
        for i, code in enumerate(found):
            if code < 0:
                found[i] = self.code(names[i])
        return np.array(found, dtype=np.int32)

    def check(self, names: Iterable[Any]) -> None:
        """Before anything is changed: that these names can have codes."""
        for name in names:
            if name not in self._codes:
                self._require_fit(name)

    def _new(self, name: Any) -> int:
        self._require_fit(name)
        self._codes[name] = code = len(self.names)
        self.names.append(name)
        return code

    def _require_fit(self, name: Any) -> None:
        if name is None or name != name or name == "":
            raise DataError(f"A vote has no {self.role}.")
        if self.closed:
            known = ", ".join(map(shown, self.names))
            raise DataError(f"There is no {self.role} {shown(name)}: there are {known}.")
        if self.names and type(name) is not type(self.names[0]):
            raise DataError(
                f"The {self.role} {shown(name)} is not of the kind of {shown(self.names[0])}:"
                f" name every {self.role} in numbers, or every one in words."
            )
