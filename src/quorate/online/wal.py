"""The write-ahead log beside a SQLite file, checked before SQLite opens it.

SQLite takes the first frame that is not whole for the end of the log, and what was committed behind
it for nothing: right for a frame that was being written when the process was killed, which is the
last one, and wrong for one that was damaged since. The format: https://sqlite.org/walformat.html.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quorate.errors import DataError

HEADER, FRAME, SALTS = 32, 24, slice(8, 16)
MAGIC = 0x377F0682  # or one more, if its checksums are of big-endian numbers
MASK = np.uint64(0xFFFFFFFF)
WRONG_BITS = 2  # frames whose salts differ by more are left from an older log


def check(database: Path, recover: bool) -> list[str]:
    """Refuse a log that is damaged, or with `recover` keep a copy of it and say so."""
    path = database.with_name(f"{database.name}-wal")
    try:
        content = np.fromfile(path, dtype=np.uint8)
        with database.open("rb") as file:
            page = int.from_bytes(file.read(18)[16:], "big")
    except FileNotFoundError:
        return []
    n_whole, n_frames = _frames(content, 65536 if page == 1 else page)
    if n_whole >= n_frames:
        return []
    if n_whole == n_frames - 1:
        return [f"The last change of {database} was not finished, and is left out."]
    sentence = f"{path} is damaged: of {n_frames:,} pages {n_whole:,} can be read"
    if not recover:
        raise DataError(
            f"{sentence}; restore it from a copy, or open it with recover=True to go on without"
            " the rest."
        )
    kept = path.with_name(f"{path.name}.damaged")
    shutil.copy2(path, kept)
    return [f"{sentence}; it was kept as {kept.name}."]


def _frames(content: NDArray[np.uint8], page: int) -> tuple[int, int]:
    """How many frames are whole, from the first on, and up to which there are some of this log."""
    n = (len(content) - HEADER) // (FRAME + page) if page else 0
    if n <= 0:
        return 0, 0
    frames = content[HEADER : HEADER + n * (FRAME + page)].reshape(n, FRAME + page)
    header = content[:HEADER]
    big = int.from_bytes(header[:4].tobytes(), "big") == MAGIC + 1
    order = ">u4" if big else "<u4"
    state = _summed(header[None, :24], order)[0]
    known = [header[16:24]] if _equal(state, header[24:]) else [header[16:24], frames[0, SALTS]]
    wrong = [np.bitwise_count(frames[:, SALTS] ^ salts).sum(axis=1) for salts in known]
    ours = np.flatnonzero(np.min(wrong, axis=0) <= WRONG_BITS)
    n_ours = int(ours[-1]) + 1 if len(ours) else 0
    if not _equal(state, header[24:]):
        return 0, n_ours
    return _whole(frames[:n_ours], header, state, order), n_ours


def _whole(
    frames: NDArray[np.uint8], header: NDArray[np.uint8], state: NDArray[np.uint64], order: str
) -> int:
    """How many frames follow on each other as their checksums say."""
    summed = np.concatenate([frames[:, :8], frames[:, FRAME:]], axis=1)
    power = _power(summed.shape[1] // 8)
    sums = _summed(summed, order)
    for i, frame in enumerate(frames):
        state = (power @ state + sums[i]) & MASK
        if not (_equal(state, frame[16:FRAME]) and (frame[SALTS] == header[16:24]).all()):
            return i
    return len(frames)


def _equal(state: NDArray[np.uint64], stored: NDArray[np.uint8]) -> bool:
    return state.astype(">u4").tobytes() == stored.tobytes()


# The checksum is two numbers: each step adds a pair of words and the other number,
# s0 += x0 + s1; s1 += x1 + s0, which is a matrix to the power of how many pairs follow.
STEP: NDArray[np.uint64] = np.array([[1, 1], [1, 2]], dtype=np.uint64)
TAKES: NDArray[np.uint64] = np.array([[1, 0], [1, 1]], dtype=np.uint64)


def _power(n: int) -> NDArray[np.uint64]:
    power: NDArray[np.uint64] = np.eye(2, dtype=np.uint64)
    for _ in range(n):
        power = (power @ STEP) & MASK
    return power


def _summed(rows: NDArray[np.uint8], order: str) -> NDArray[np.uint64]:
    """The checksums of rows of bytes, each from zero."""
    words = np.ascontiguousarray(rows).view(order).astype(np.uint64)
    n = words.shape[1] // 2
    weights = np.empty((2 * n, 2), dtype=np.uint64)
    power: NDArray[np.uint64] = np.eye(2, dtype=np.uint64)
    for i in reversed(range(n)):
        weights[2 * i : 2 * i + 2] = ((power @ TAKES) & MASK).T
        power = (power @ STEP) & MASK
    sums: NDArray[np.uint64] = (words @ weights) & MASK
    return sums
