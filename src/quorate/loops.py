"""The loops that numba compiles, for tables of a given width: see `compiled`.

Each adds in the very order of what it stands for, and nothing is reassociated, so that its results
have the same bits. The width is a constant of the compiled code, by which a row stays in registers.
Arrays are flat: row ``i`` of a table is ``i * width`` and what follows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

Loop = Callable[..., None]

# NumPy's sums: of so many numbers at most without halving, and of so many at once.
FEW_ROWS, AT_ONCE = 128, 8
DEEPEST = 64  # halves of halves

FEW_LABELS = 16  # of a task, for each to be compared with all

AHEAD = 24  # labels whose rows are fetched before they are needed, where a table is large
LINE = 8  # numbers in a line of the cache

# What is only read may be read-only, as blocks in files are.
INDEX, READ = (types.Array(kind, 1, "C", readonly=True) for kind in (types.int32, types.float64))
ROWS, NUMBERS = types.int32[::1], types.float64[::1]


class Loops(NamedTuple):
    """What is compiled for tables of one width."""

    gather: Loop
    add: Loop
    less_highest: Loop
    to_shares: Loop
    column_sums: Loop
    shares_of_labels: Loop


class FarLoops(NamedTuple):
    """The same for tables that no cache holds."""

    gather: Loop
    add: Loop


def compile_near(width: int, **how: Any) -> Loops:
    return Loops(
        *_gather_and_add(width, 0, how),
        _compiled(_less_highest(width), (NUMBERS, NUMBERS), how),
        _compiled(_to_shares(width), (NUMBERS, NUMBERS), how),
        _compiled(_column_sums(width), (READ, NUMBERS), how),
        _compiled(_shares_of_labels(width), (READ, types.float64, NUMBERS), how),
    )


def compile_far(width: int, **how: Any) -> FarLoops:
    return FarLoops(*_gather_and_add(width, AHEAD, how))


def compile_sort_rows(width: int, **how: Any) -> Loop:
    return _compiled(_sort_rows, (INDEX, ROWS), how)


def _gather_and_add(width: int, ahead: int, how: dict[str, Any]) -> tuple[Loop, Loop]:
    return (
        _compiled(_gather(width, ahead), (INDEX, INDEX, READ, READ, NUMBERS), how),
        _compiled(_add(width, ahead), (INDEX, INDEX, READ, NUMBERS), how),
    )


def _compiled(loop: Loop, arguments: tuple[Any, ...], how: dict[str, Any]) -> Loop:
    compiled: Loop = numba.njit(types.void(*arguments), nogil=True, error_model="numpy", **how)(
        loop
    )
    return compiled


def _prefetch(context: Any, table: Any, index: Any) -> Any:
    """Ask for the line of the cache that holds a number of the table, without waiting for it."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        number = builder.gep(array.data, [arguments[1]])
        address = builder.bitcast(number, ir.IntType(8).as_pointer())
        word = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, word, word, word])
        name = "llvm.prefetch.p0"
        call = insert_function(builder.module, kind, name)
        read, keep, data = word(0), word(3), word(1)
        builder.call(call, [address, read, keep, data])
        return context.get_dummy_value()

    return types.void(table, types.uintp), emit


def _registers(context: Any, width: Any) -> Any:
    """Room for a row on the stack. Nothing else can point to it, unlike to an array, so that the
    compiler keeps it in registers and need not write it after every addition."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return room_for(builder, ir.DoubleType(), size=width.literal_value)

    return pointer_to(types.float64)(width), emit


insert_function: Any = cgutils.get_or_insert_function
room_for: Any = cgutils.alloca_once
pointer_to: Any = types.CPointer
prefetch: Any = intrinsic(_prefetch)
registers: Any = intrinsic(prefer_literal=True)(_registers)


def _gather(width: int, ahead: int) -> Loop:
    """The sum of the rows that each task touches, and of a row that is added to all."""

    def gather(indptr: Any, row: Any, table: Any, plus: Any, out: Any) -> None:
        sums = registers(width)
        last = len(row) - 1
        start = np.uintp(0)
        for task in range(len(indptr) - 1):
            for k in range(width):
                sums[k] = 0.0
            for i in range(indptr[task], indptr[task + 1]):
                if ahead:
                    soon = np.uintp(row[min(i + ahead, last)]) * np.uintp(width)
                    for k in range(0, width, LINE):
                        prefetch(table, soon + np.uintp(k))
                    prefetch(table, soon + np.uintp(width - 1))
                of = np.uintp(row[i]) * np.uintp(width)
                for k in range(width):
                    sums[k] += table[of + np.uintp(k)]
            for k in range(width):
                out[start + np.uintp(k)] = sums[k] + plus[k]
            start += np.uintp(width)

    return gather


def _add(width: int, ahead: int) -> Loop:
    """Add each task's values to the rows that it touches."""

    def add(indptr: Any, row: Any, values: Any, into: Any) -> None:
        own = registers(width)
        last = len(row) - 1
        start = np.uintp(0)
        for task in range(len(indptr) - 1):
            for k in range(width):
                own[k] = values[start + np.uintp(k)]
            for i in range(indptr[task], indptr[task + 1]):
                if ahead:
                    soon = np.uintp(row[min(i + ahead, last)]) * np.uintp(width)
                    for k in range(0, width, LINE):
                        prefetch(into, soon + np.uintp(k))
                    prefetch(into, soon + np.uintp(width - 1))
                of = np.uintp(row[i]) * np.uintp(width)
                for k in range(width):
                    into[of + np.uintp(k)] += own[k]
            start += np.uintp(width)

    return add


def _less_highest(width: int) -> Loop:
    """Subtract from each row its highest value, which is kept."""

    def less_highest(values: Any, highest: Any) -> None:
        start = np.uintp(0)
        for i in range(len(highest)):
            most = values[start]
            for k in range(1, width):
                most = max(most, values[start + np.uintp(k)])
            for k in range(width):
                values[start + np.uintp(k)] -= most
            highest[i] = most
            start += np.uintp(width)

    return less_highest


def _to_shares(width: int) -> Loop:
    """Divide each row by its sum, which is kept."""

    def to_shares(values: Any, total: Any) -> None:
        start = np.uintp(0)
        for i in range(len(total)):
            sum = values[start]
            for k in range(1, width):
                sum += values[start + np.uintp(k)]
            for k in range(width):
                values[start + np.uintp(k)] /= sum
            total[i] = sum
            start += np.uintp(width)

    return to_shares


def _column_sums(width: int) -> Loop:
    """The sum of each column: of one half of the rows and of the other, as NumPy adds. While first
    halves wait in `sums_before`, `rest` is the number of rows of each one's second half, or 0."""
    side_by_side = AT_ONCE * width

    def column_sums(values: Any, sums: Any) -> None:
        rest, sums_before = np.zeros(DEEPEST, np.intp), np.empty(DEEPEST * width)
        eight = registers(side_by_side)
        n, start, depth = len(values) // width, 0, 0
        while True:
            while n > FEW_ROWS:
                half = n // 2 - n // 2 % AT_ONCE
                rest[depth], n = n - half, half
                depth += 1
            _sum_few(values, start, n, width, eight, sums)
            start += n * width
            while depth > 0 and rest[depth - 1] == 0:
                depth -= 1
                for k in range(width):
                    sums[k] = sums_before[depth * width + k] + sums[k]
            if depth == 0:
                break
            for k in range(width):
                sums_before[(depth - 1) * width + k] = sums[k]
            n, rest[depth - 1] = rest[depth - 1], 0

    return column_sums


@numba.njit(error_model="numpy")
def _sum_few(values: Any, start: int, n: int, width: int, eight: Any, sums: Any) -> None:
    """The sums of few rows: of every eighth, side by side, and of what is left over."""
    step, at = AT_ONCE * width, np.uintp(start)
    for k in range(step):
        eight[k] = 0.0
    for _ in range(n // AT_ONCE):
        for k in range(step):
            eight[k] += values[at + np.uintp(k)]
        at += np.uintp(step)
    for k in range(width):
        first = (eight[k] + eight[width + k]) + (eight[2 * width + k] + eight[3 * width + k])
        k4 = k + 4 * width
        last = (eight[k4] + eight[width + k4]) + (eight[2 * width + k4] + eight[3 * width + k4])
        sums[k] = first + last
    for _ in range(n % AT_ONCE):
        for k in range(width):
            sums[k] += values[at + np.uintp(k)]
        at += np.uintp(width)


def _shares_of_labels(width: int) -> Loop:
    """Each label's share of a worker's labels on tasks of one truth, as `kernels.log_shares` has
    them before their logarithm."""
    size = width * width

    def shares_of_labels(counts: Any, smoothing: float, out: Any) -> None:
        answered = registers(width)
        start = np.uintp(0)
        for _ in range(len(counts) // size):
            for truth in range(width):
                answered[truth] = 0.0
            for label in range(0, size, width):
                for truth in range(width):
                    answered[truth] += counts[start + np.uintp(label + truth)] + smoothing
            for truth in range(width):
                answered[truth] = answered[truth] if answered[truth] > 0 else 1.0
            for label in range(0, size, width):
                for truth in range(width):
                    at = start + np.uintp(label + truth)
                    out[at] = (counts[at] + smoothing) / answered[truth]
            start += np.uintp(size)

    return shares_of_labels


def _sort_rows(indptr: Any, row: Any) -> None:
    """Sort the rows of each task."""
    for task in range(len(indptr) - 1):
        first, last = indptr[task], indptr[task + 1]
        if last - first <= FEW_LABELS:
            _insert_each(row, first, last)
        else:
            _shell_sort(row, first, last)


@numba.njit(error_model="numpy")
def _insert_each(row: Any, first: int, last: int) -> None:
    """Insertion without a branch that depends on the rows, which nothing could predict."""
    for i in range(first + 1, last):
        moved = row[i]
        for to in range(i, first, -1):
            before = row[to - 1]
            row[to] = max(before, moved)
            moved = min(before, moved)
        row[first] = moved


@numba.njit(error_model="numpy")
def _shell_sort(row: Any, first: int, last: int) -> None:
    gap = 1
    while 3 * gap < last - first:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(first + gap, last):
            moved, to = row[i], i
            while to >= first + gap and row[to - gap] > moved:
                row[to] = row[to - gap]
                to -= gap
            row[to] = moved
        gap //= 3
