"""Write what Prodigy's `db-out` writes, after its documentation.

python -m tests.votes.readers.exports.prodigy.make
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.votes.readers.exports.crowd import (
    ABOUT,
    OPTIONS,
    PEOPLE,
    SENTIMENT,
    TEXTS,
    TOPICS,
    entered,
    vote,
    write_entered,
)

HERE = Path(__file__).parent
IGNORED, REJECTED = ("cyd", 5), ("bob", 2)
DATA_SET = "reviews"


def task(text: str) -> int:
    """A number for an input, as large as Prodigy's."""
    return zlib.crc32(text.encode()) - 2**31


def answered(name: str, place: int, more: Mapping[str, Any]) -> dict[str, Any]:
    """What is in every line, and what a view adds."""
    session = f"{DATA_SET}-{name}"
    line = {"text": TEXTS[place], "_input_hash": task(TEXTS[place])}
    line |= {"_task_hash": task(f"{TEXTS[place]} {sorted(more)}"), **more}
    when = 1_690_000_000 + 60 * place
    return line | {"_annotator_id": session, "_session_id": session, "_timestamp": when}


def choice(name: str, place: int, options: Iterable[str], chosen: Iterable[str]) -> dict[str, Any]:
    """A line of the choice view."""
    answer = {IGNORED: "ignore", REJECTED: "reject"}.get((name, place), "accept")
    listed = [{"id": option.upper(), "text": option} for option in options]
    accept = [option.upper() for option in chosen]
    more = {"options": listed, "_view_id": "choice", "accept": accept, "answer": answer}
    return answered(name, place, more)


def binary(name: str, place: int) -> dict[str, Any]:
    """A line of a view that asks whether a label fits."""
    answer = "accept" if SENTIMENT[name][place] == "Positive" else "reject"
    answer = "ignore" if (name, place) == IGNORED else answer
    return answered(
        name, place, {"label": "POSITIVE", "_view_id": "classification"} | {"answer": answer}
    )


def write(file: str, lines: Iterable[Mapping[str, Any]]) -> None:
    (HERE / file).write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def main() -> None:
    """Write the files, and what was entered."""
    both = [(name, place) for place in range(len(TEXTS)) for name in PEOPLE]
    kept = [at for at in both if at not in (IGNORED, REJECTED)]
    who = {name: f"{DATA_SET}-{name}" for name in PEOPLE}
    write("choice.jsonl", (choice(n, p, OPTIONS, [SENTIMENT[n][p]]) for n, p in both))
    write("several.jsonl", (choice(n, p, TOPICS, ABOUT[n][p]) for n, p in both))
    write("binary.jsonl", (binary(n, p) for n, p in both))
    one = [vote("", task(TEXTS[p]), who[n], SENTIMENT[n][p].upper()) for n, p in kept]
    several = [vote("", task(TEXTS[p]), who[n], [s.upper() for s in ABOUT[n][p]]) for n, p in kept]
    fits = [
        vote("POSITIVE", task(TEXTS[p]), who[n], binary(n, p)["answer"])
        for n, p in both
        if (n, p) != IGNORED
    ]
    dropped = {"ignored": 1, "rejected as a whole": 1}
    files = {
        "choice.jsonl": entered(one, dropped=dropped),
        "several.jsonl": entered(several, dropped=dropped),
        "binary.jsonl": entered(fits, dropped={"ignored": 1}),
    }
    write_entered(HERE, files)


if __name__ == "__main__":
    main()
