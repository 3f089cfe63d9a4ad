"""Files that are not quite what a tool wrote: bytes, JSON values and cells that are other ones."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

Mutation = Callable[[bytes, Random], bytes]
# What a field may hold that its tool would never put there.
STRANGE: tuple[Any, ...] = (
    None,
    "",
    "x",
    0,
    -1,
    2**70,
    1.5,
    1e308,
    float("nan"),
    True,
    [],
    {},
    [[]],
    [None],
    ["x", 1],
    {"x": {"x": []}},
    "é" * 300,
    "\0",
    "\ud800",
    "1e999",
    "2021-02-31T25:00",
)


def mutated(content: bytes, chance: Random) -> bytes:
    """The content after one to three mutations of the kinds that it allows."""
    if content.startswith(b"PK\x03\x04") and chance.random() < 0.7:
        return _in_a_member(content, chance)
    kinds = _kinds(content)
    for _ in range(chance.randint(1, 3)):
        content = chance.choice(chance.choice(kinds))(content, chance)
    return content


def _kinds(content: bytes) -> list[Sequence[Mutation]]:
    start = content.lstrip()[:1]
    if start in (b"[", b"{"):
        return [BYTES, JSON, JSON]
    return [BYTES, CELLS, CELLS] if b"\n" in content and b"\0" not in content else [BYTES]


def _in_a_member(content: bytes, chance: Random) -> bytes:
    """The archive with one of its files mutated; its bytes, where it cannot be unpacked here."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {info.filename: archive.read(info) for info in archive.infolist()}
    except NotImplementedError:  # a compression that is not Python's
        return chance.choice(BYTES)(content, chance)
    name = chance.choice(list(members))
    members[name] = mutated(members[name], chance)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for each, text in members.items():
            archive.writestr(each, text)
    return made.getvalue()


# Bytes


def _flipped(content: bytes, chance: Random) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.randint(1, 5)):
        if changed:
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _cut(content: bytes, chance: Random) -> bytes:
    return content[: chance.randint(0, len(content))]


def _without_a_part(content: bytes, chance: Random) -> bytes:
    start, end = _part(content, chance)
    return content[:start] + content[end:]


def _doubled(content: bytes, chance: Random) -> bytes:
    start, end = _part(content, chance)
    return content[:end] + content[start:end] + content[end:]


def _with_strange_bytes(content: bytes, chance: Random) -> bytes:
    at, _ = _part(content, chance)
    strange = (
        b"\0",
        b"\xff\xfe",
        b'"',
        b"{",
        b"]",
        b"\n",
        b"\r",
        b"\xef\xbb\xbf",
        b",",
        b"\xed\xa0",
    )
    return content[:at] + chance.choice(strange) * chance.randint(1, 3) + content[at:]


def _part(content: bytes, chance: Random) -> tuple[int, int]:
    start = chance.randint(0, len(content))
    return start, chance.randint(start, min(len(content), start + 200))


BYTES = (_flipped, _cut, _without_a_part, _doubled, _with_strange_bytes)


# JSON


def _json(change: Callable[[Any, Random], Any]) -> Mutation:
    """A mutation of the value in a file, or on one of its lines; of bytes where it is none."""

    def mutation(content: bytes, chance: Random) -> bytes:
        try:
            return json.dumps(change(json.loads(content), chance)).encode()
        except (ValueError, RecursionError):
            pass
        lines = content.split(b"\n")
        at = chance.randrange(len(lines))
        try:
            lines[at] = json.dumps(change(json.loads(lines[at]), chance)).encode()
        except (ValueError, RecursionError):
            return _flipped(content, chance)
        return b"\n".join(lines)

    return mutation


def _at_random(value: Any, chance: Random, change: Callable[[Any, Any], Any]) -> Any:
    """The value with something inside changed: `change` gets a container and a key of it."""
    if not isinstance(value, (dict, list)) or not value:
        return chance.choice(STRANGE)
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = chance.choice(keys)
    if isinstance(value[key], (dict, list)) and value[key] and chance.random() < 0.8:
        value[key] = _at_random(value[key], chance, change)
        return value
    change(value, key)
    return value


def _other_value(value: Any, chance: Random) -> Any:
    def change(container: Any, key: Any) -> None:
        container[key] = chance.choice(STRANGE)

    return _at_random(value, chance, change)


def _dropped(value: Any, chance: Random) -> Any:
    def change(container: Any, key: Any) -> None:
        del container[key]

    return _at_random(value, chance, change)


def _swapped(value: Any, chance: Random) -> Any:
    def change(container: Any, key: Any) -> None:
        keys = list(container) if isinstance(container, dict) else list(range(len(container)))
        other = chance.choice(keys)
        container[key], container[other] = container[other], container[key]

    return _at_random(value, chance, change)


def _wrapped(value: Any, chance: Random) -> Any:
    def change(container: Any, key: Any) -> None:
        container[key] = chance.choice(([container[key]], {"x": container[key]}, str(key)))

    return _at_random(value, chance, change)


JSON = tuple(map(_json, (_other_value, _dropped, _swapped, _wrapped)))


# Cells of tables


def _cells(change: Callable[[list[list[str]], Random], None]) -> Mutation:
    def mutation(content: bytes, chance: Random) -> bytes:
        separator = "\t" if b"\t" in content.partition(b"\n")[0] else ","
        text = io.StringIO(content.decode("utf-8", "replace").replace("\0", ""), newline="")
        try:
            rows = list(csv.reader(text, delimiter=separator))
        except csv.Error:
            return _flipped(content, chance)
        change(rows, chance)
        made = io.StringIO(newline="")
        csv.writer(made, delimiter=separator).writerows(rows)
        return made.getvalue().encode("utf-8", "replace")

    return mutation


def _swap_cells(rows: list[list[str]], chance: Random) -> None:
    one, other = (chance.choice(rows) for _ in range(2))
    if one and other:
        i, j = chance.randrange(len(one)), chance.randrange(len(other))
        one[i], other[j] = other[j], one[i]


def _strange_cell(rows: list[list[str]], chance: Random) -> None:
    row = chance.choice(rows)
    if row:
        row[chance.randrange(len(row))] = str(chance.choice(STRANGE)).replace("\ud800", "?")


def _drop_cell(rows: list[list[str]], chance: Random) -> None:
    row = chance.choice(rows)
    if row:
        row.pop(chance.randrange(len(row)))


def _drop_column(rows: list[list[str]], chance: Random) -> None:
    at = chance.randrange(max(len(rows[0]), 1))
    for row in rows:
        if at < len(row):
            row.pop(at)


def _double_cell(rows: list[list[str]], chance: Random) -> None:
    row = chance.choice(rows)
    if row:
        row.insert(chance.randrange(len(row)), chance.choice(row))


CELLS = tuple(map(_cells, (_swap_cells, _strange_cell, _drop_cell, _drop_column, _double_cell)))
