"""Values of a fit in files: arrays and plain values, which can be read without running anything."""

from __future__ import annotations

import json
import math
import sys
import zlib
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from quorate import sparse
from quorate.errors import DataError, UsageError
from quorate.labels import Labels

MARK, ALIGNED = b"quorate1", 8  # how a file begins, and where its arrays may
KINDS = "biufU"  # of numbers and text: nothing that points elsewhere

Arrays = list[NDArray[Any]]


class StoredStates:
    """The local state of each block in a file. The state of the last sweep is read, and that of the
    next written elsewhere, so that an interrupted sweep can be repeated."""

    def __init__(self, place: Path, starts: Sequence[int], sweeps: int = 0) -> None:
        self._place, self._starts = place, starts
        self.sweeps = sweeps  # so far
        place.mkdir(parents=True, exist_ok=True)

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, index: int) -> Any:
        path = self._file(index, self.sweeps)
        try:
            return read_value(path)
        except DataError:
            raise DataError(
                f"{path} is damaged or gone: run again without resume (--resume)."
            ) from None

    def __setitem__(self, index: int, state: Any) -> None:
        write_value(self._file(index, self.sweeps + 1), state)

    def _file(self, index: int, sweeps: int) -> Path:
        return self._place / f"{self._starts[index]:015d}-{sweeps % 2}.state"


def write_value(path: Path, value: Any) -> None:
    """Write a value to a file, whole or not at all: a mark, the length of a JSON, the JSON, the
    arrays that it numbers, and a checksum."""
    arrays: Arrays = []
    tree = _tree(value, arrays)
    kinds = [[array.dtype.str, array.shape, "F" if array.flags.fnc else "C"] for array in arrays]
    head = json.dumps([tree, kinds]).encode()
    head += b" " * (-(len(head) + len(MARK) + 8) % ALIGNED)
    parts = [MARK + len(head).to_bytes(8, "little") + head]
    parts += [part for array in arrays for part in _bytes(array)]
    total = 0
    unfinished = path.with_name(f"{path.stem}-{uuid4().hex}.part")  # of this process alone
    with unfinished.open("wb") as file:
        for part in parts:
            file.write(part)
            total = zlib.crc32(part, total)
        file.write(total.to_bytes(4, "little"))
    unfinished.replace(path)


def read_value(path: Path) -> Any:
    """Read the value that `write_value` wrote. A file that holds anything else is refused."""
    try:
        return _content(path)
    except Exception:  # whatever a damaged or foreign file does
        raise DataError(f"{path} is damaged, or not what Quorate writes.") from None


def _content(path: Path) -> Any:
    content = np.fromfile(path, dtype=np.uint8)
    if zlib.crc32(content[:-4].data) != int.from_bytes(content[-4:].tobytes(), "little"):
        raise ValueError("checksum")
    start = len(MARK) + 8
    mark, length = content[: len(MARK)].tobytes(), content[len(MARK) : start].tobytes()
    at = start + int.from_bytes(length, "little")
    tree, kinds = json.loads(content[start:at].tobytes())
    arrays: Arrays = []
    for name, shape, order in kinds:
        dtype = np.dtype(name)
        if mark != MARK or dtype.kind not in KINDS or any(side < 0 for side in shape):
            raise ValueError("arrays")
        end = at + dtype.itemsize * math.prod(shape)
        arrays.append(content[at:end].view(dtype).reshape(shape, order=order))
        at = end + -end % ALIGNED
    return _value(tree, arrays)


def _bytes(array: NDArray[Any]) -> tuple[Any, bytes]:
    """The array's bytes, and zeros up to where the next one begins."""
    flat = np.ascontiguousarray(array.T if array.flags.fnc else array).reshape(-1)
    return flat.view(np.uint8), bytes(-array.nbytes % ALIGNED)


def _tree(value: Any, arrays: Arrays) -> Any:
    """The value as JSON, with the numbers of the arrays that are taken out of it."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in KINDS:
        arrays.append(np.asarray(value))
        return {"array" if isinstance(value, np.ndarray) else "scalar": len(arrays) - 1}
    if isinstance(value, sparse.csr_array):
        of = [_tree(part, arrays) for part in (value.data, value.indices, value.indptr)]
        return {"sparse": of, "shape": list(value.shape)}
    if isinstance(value, Labels):
        return {"labels": [_tree(getattr(value, f.name), arrays) for f in fields(Labels)]}
    if isinstance(value, (tuple, list)):
        kind = type(value)
        name = "" if kind in (tuple, list) else f"{kind.__module__}:{kind.__qualname__}"
        parts = [_tree(part, arrays) for part in value]
        return {"list": parts} if kind is list else {"tuple": parts, "kind": name}
    raise UsageError(
        f"A model's state has a {type(value).__name__} in it, which no file can keep: arrays,"
        " numbers, text and named tuples of them can be kept."
    )


def _value(tree: Any, arrays: Arrays) -> Any:
    if not isinstance(tree, dict):
        return tree
    if "array" in tree:
        return arrays[tree["array"]]
    if "scalar" in tree:
        return arrays[tree["scalar"]][()]
    if "sparse" in tree:
        matrix = sparse.csr_array(
            tuple(_value(part, arrays) for part in tree["sparse"]), tree["shape"]
        )
        matrix.check_format(full_check=True)
        return matrix
    if "labels" in tree:
        return _checked(Labels(*(_value(part, arrays) for part in tree["labels"])))
    if "list" in tree:
        return [_value(part, arrays) for part in tree["list"]]
    parts = tuple(_value(part, arrays) for part in tree["tuple"])
    return _of_kind(tree["kind"], parts) if tree["kind"] else parts


def _of_kind(name: str, parts: tuple[Any, ...]) -> Any:
    """A named tuple of a module that has been imported; none of its code is run."""
    module, _, path = name.partition(":")
    kind: Any = sys.modules[module]
    for step in path.split("."):
        kind = vars(kind)[step]
    if not (isinstance(kind, type) and issubclass(kind, tuple)):
        raise TypeError(name)
    if len(vars(kind)["_fields"]) != len(parts):
        raise ValueError(name)
    return tuple.__new__(kind, parts)


def _checked(labels: Labels) -> Labels:
    """The labels, whose codes lead nowhere outside."""
    worker, label, indptr = labels.worker, labels.label, labels.indptr
    right = (
        indptr[0] == 0
        and bool(np.all(np.diff(indptr) >= 0))
        and indptr[-1] == len(worker) == len(label)
        and worker.min(initial=0) >= 0
        and worker.max(initial=-1) < labels.n_workers
        and label.max(initial=-1) < labels.n_classes
    )
    if not right:
        raise ValueError("codes")
    return labels
