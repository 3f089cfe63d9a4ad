"""Exports of other tools that are damaged or changed: votes or one sentence, in a moment."""

from __future__ import annotations

import random
import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from chaos.attack import Attack, FailureError, Outcomes
from chaos.readers.mutations import mutated
from quorate.errors import QuorateError
from quorate.votes import convert, questions, read_votes
from quorate.votes.readers.opening import Opened, opened
from quorate.votes.reading import ALL_FORMATS

EXPORTS = Path(__file__).resolve().parents[2] / "tests" / "votes" / "readers" / "exports"
NO_EXPORTS = (".py", ".md", ".txt", ".pyc")  # what is beside them
IN_A_TRIAL = 100  # mutations
PATIENCE = 20  # seconds, for one file
LONGEST_SENTENCE = 2_000
OWN = {"prodigy.jsonl": b'{"text":"a","answer":"accept","_input_hash":1,"_task_hash":2}\n' * 3}


@cache
def originals() -> dict[str, bytes]:
    """The exports by their paths, and one that is always there."""
    files = [path for path in sorted(EXPORTS.rglob("*")) if path.is_file()]
    found = {
        str(path.relative_to(EXPORTS)): path.read_bytes()
        for path in files
        if path.suffix not in NO_EXPORTS
    }
    return {**OWN, **found}


def trial(seed: int, place: Path) -> Outcomes:
    chance = random.Random(seed)
    for number in range(IN_A_TRIAL):
        name = chance.choice(list(originals()))
        path = place / Path(name).name
        path.write_bytes(mutated(originals()[name], chance))
        format = chance.choice(ALL_FORMATS) if chance.random() < 0.1 else None
        yield _read(path, {} if format is None else {"format": format}, f"{name}, file {number}")
        path.unlink()


def _read(path: Path, reading: dict[str, Any], what: str) -> str | None:
    """What was raised that is no sentence; None where there are votes or one sentence."""
    try:
        with _in_time():
            _go_through(opened(str(path)))
            convert(path, **reading).table.lazy().collect()
            for question in questions(path, **reading) or [None]:
                read_votes(path, question=question, unlabelled=True, **reading)
    except QuorateError as error:
        sentence = str(error)
        if "\n" in sentence or len(sentence) > LONGEST_SENTENCE:
            return f"{what}: more than a sentence: {sentence[:300]!r}"
    except BaseException:
        return f"{what} {reading}: {''.join(traceback.format_exc(limit=-4))[-1_500:]}"
    return None


def _go_through(file: Opened) -> None:
    """Every record of the file, and of the files in it, whoever wrote it."""
    ways = (file.look, lambda: list(file.records()), file.document)
    for way in ways:
        with suppress(QuorateError):
            way()
    with suppress(QuorateError):
        for member in file.members():
            _go_through(member)


@contextmanager
def _in_time() -> Iterator[None]:
    def late(*_: object) -> None:
        raise FailureError(f"not done in {PATIENCE} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


ATTACK = Attack(
    "readers-exports",
    "exports of other tools with bytes, values and cells changed",
    trial,
    often=10_000,
    patience=600.0,
)
