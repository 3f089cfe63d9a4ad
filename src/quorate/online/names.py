"""Names and their codes, in the order in which they first came."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count, repeat
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate.errors import DataError
from quorate.kernels import Codes, Keys
from quorate.online.ballots import Column
from quorate.votes import shown
from quorate.votes.naming import key, keys

INT64 = 2**63
FEW = 30  # names that are sooner looked at one by one


class Names:
    """All of one type, so that a table can hold them: numbers, or text.

    Names in a database are numbered there too: `kept` are all of them, also those whose votes were
    all taken back, and `ids` are the numbers of those that have votes.
    """

    def __init__(self, role: str, names: Iterable[Any] = (), closed: bool = False) -> None:
        self.role = role
        self.closed = closed
        self.names = list(names)
        self._codes = {name: code for code, name in enumerate(self.names)}
        self.ids = Column(np.int64)
        self.ids.extend(np.arange(len(self.names)))
        self.kept = list(self.names)
        self._absent: dict[Any, int] = {}
        self._n_ids = len(self.names)
        self.expected: Any = None  # a name that votes may come on, which others have to be like

    def __len__(self) -> int:
        return len(self.names)

    def some(self, ids: NDArray[np.integer]) -> Names:
        """Of the kept names those with these ids, in this order."""
        chosen = Names(self.role, map(self.kept.__getitem__, ids.tolist()), self.closed)
        chosen.ids.values[:] = ids
        chosen._take_kept(self.kept)
        return chosen

    def first(self, n: int) -> Names:
        """The first so many, as if the others had not come."""
        fewer = Names(self.role, self.names[:n], self.closed)
        fewer.ids.values[:] = self.ids.values[:n]
        fewer._take_kept(self.kept)
        return fewer

    def _take_kept(self, kept: list[Any]) -> None:
        absent = np.ones(len(kept), dtype=bool)
        absent[self.ids.values[self.ids.values < len(kept)]] = False
        self.kept, self._n_ids = kept, max(len(kept), len(self.names))
        self._absent = {kept[id]: id for id in np.flatnonzero(absent).tolist()}

    def cut(self, n: int) -> None:
        """Forget all but the first so many; those that are kept keep their ids."""
        ids = self.ids.values[n:].tolist()
        for name, id in zip(self.names[n:], ids, strict=True):
            if id < len(self.kept):
                self._absent[name] = id
            del self._codes[name]
        del self.names[n:]
        self.ids.cut(n)
        self._n_ids = max(len(self.kept), n)

    def new(self, n: int) -> list[tuple[int, Any]]:
        """Names after the first so many that are not kept yet, with their ids."""
        if n == len(self.names) - 1:
            id = self.ids.cells[n]
            return [(id, self.names[n])] if id >= len(self.kept) else []
        kept, ids = len(self.kept), self.ids.values[n:].tolist()
        new = list(zip(ids, self.names[n:], strict=True))
        return new if min(ids, default=kept) >= kept else [row for row in new if row[0] >= kept]

    def learn(self, names: Iterable[Any]) -> None:
        """Names that another process has kept."""
        new = list(names)
        self._absent.update(zip(new, count(len(self.kept)), strict=False))
        self.kept += new
        self._n_ids = len(self.kept)

    def get(self, name: Any) -> int | None:
        """The code of a name that has one."""
        return self._codes.get(name)

    def ids_for(self, names: Iterable[Any]) -> tuple[list[int], list[tuple[int, Any]]]:
        """The numbers under which names are kept, or are to be kept though they have no votes; and
        those among them that are new."""
        ids: list[int] = []
        new: dict[Any, int] = {}
        for name in names:
            code = self._codes.get(name)
            known = self._absent.get(name) if code is None else self.ids.cells[code]
            if known is None:
                known = new.setdefault(name, self._n_ids + len(new))
            ids.append(known)
        return ids, [(id, name) for name, id in new.items()]

    def keys(self, codes: Sequence[int]) -> Keys:
        """Keys of names, as readers of votes give them."""
        names = [self.names[code] for code in codes]
        if len(names) > FEW and type(names[0]) in (str, int):
            return keys(pl.Series(names))
        return np.array([key(name) for name in names], dtype=np.uint64)

    def require(self, name: Any) -> int:
        code = self._codes.get(name)
        if code is None:
            raise DataError(f"There is no vote of {self.role} {shown(name)}.")
        return code

    def code(self, name: Any) -> int:
        """The code of a name, -1 for a new one that is fit for a code."""
        try:
            code = self._codes.get(name, -1)
        except TypeError:  # a list, say
            raise self._unfit(name) from None
        if code < 0:
            name = plain(name)
            self._require_fit(name, self._like(name))
        return code

    def look_up(self, names: Sequence[Any]) -> list[int]:
        """The codes of names, -1 for a new one; every new one is known to be fit for a code."""
        try:
            found = list(map(self._codes.get, names, repeat(-1)))
        except TypeError:
            return [self.code(name) for name in names]
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
        if len(new) > FEW and not self._absent:
            self._append_all(plain_all([names[i] for i in new]))
        for i in new:
            known = self._codes.get(names[i])
            codes[i] = self.append(names[i]) if known is None else known

    def append(self, name: Any) -> int:
        """The code of a new name that is fit for one."""
        code, name = len(self.names), plain(name)
        id = self._absent.get(name, self._n_ids)
        self.names.append(name)
        self.ids.append(id)
        self._n_ids += id == self._n_ids
        self._codes[name] = code
        return code

    def _append_all(self, new: Sequence[Any]) -> None:
        """The same for many, of which some may be the same, when none was ever there."""
        came, n = list(dict.fromkeys(new)), len(self.names)
        self.names += came
        self.ids.extend(np.arange(self._n_ids, self._n_ids + len(came)))
        self._n_ids += len(came)
        self._codes.update(zip(came, count(n), strict=False))

    def _require_all_fit(self, new: Sequence[Any]) -> None:
        if not len(new):
            return
        like = self._like(plain(new[0]))
        if not self.closed and set(map(type, new)) == {str} == {type(like)} and "" not in new:
            return
        for name in map(plain, dict.fromkeys(new)):
            self._require_fit(name, like)

    def _like(self, name: Any) -> Any:
        """A name that a new one has to be of the kind of."""
        if self.names:
            return self.names[0]
        return name if self.expected is None else self.expected

    def _require_fit(self, name: Any, like: Any) -> None:
        if name is None or name != name or name == "":
            raise DataError(f"A vote has no {self.role}.")
        if self.closed:
            known = ", ".join(map(shown, self.names))
            raise DataError(f"There is no {self.role} {shown(name)}: there are {known}.")
        if not isinstance(name, (str, int, float)) or (
            isinstance(name, int) and not -INT64 <= name < INT64
        ):
            raise self._unfit(name)
        if type(name) is not type(like):
            raise DataError(
                f"The {self.role} {shown(name)} is not of the kind of {shown(like)}:"
                f" name every {self.role} in numbers, or every one in words."
            )

    def _unfit(self, name: Any) -> DataError:
        return DataError(f"The {self.role} {shown(name)} is neither text nor a 64-bit number.")


def plain_all(names: Sequence[Any]) -> Sequence[Any]:
    """`plain` for many, most of which are so already."""
    return names if set(map(type, names)) == {str} else list(map(plain, names))


def plain(name: Any) -> Any:
    """NumPy's numbers and text as Python's own."""
    return name.item() if isinstance(name, np.generic) else name
