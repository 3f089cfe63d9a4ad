"""Processes that a trial starts: forked from one that has used nothing of what it imported."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from chaos.attack import FailureError


class Child:
    """A process that runs a function, which can say numbers and, at the end, returns JSON."""

    def __init__(self, work: Callable[[Callable[[int], None]], Any]) -> None:
        reading, writing = os.pipe()
        answer, answering = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(reading)
            os.close(answer)
            _work(work, writing, answering)
        os.close(writing)
        os.close(answering)
        self._said, self._answer = reading, answer
        self._status: int | None = None

    def next(self) -> int | None:
        """The next number that it says; None if it has ended."""
        said = os.read(self._said, 8)
        while said and len(said) < 8 and (more := os.read(self._said, 8 - len(said))):
            said += more
        return int.from_bytes(said, "little") if len(said) == 8 else None

    def rest(self) -> int | None:
        """The last number that it has said and that was not asked for."""
        last = None
        while (number := self.next()) is not None:
            last = number
        return last

    def kill(self, with_signal: int = signal.SIGKILL) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, with_signal)

    def wait(self) -> int:
        """How it ended, as a shell says it; negative for a signal."""
        if self._status is None:
            self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._status

    def result(self) -> Any:
        """What the function has returned; what it raised is raised here."""
        text = b""
        while part := os.read(self._answer, 2**16):
            text += part
        if status := self.wait():
            died = f"a process ended with {status}"
            raise FailureError(text.decode() or died)
        return json.loads(text)


def _work(work: Callable[[Callable[[int], None]], Any], said: int, answering: int) -> None:
    try:
        answer = work(lambda number: _write(said, number.to_bytes(8, "little")))
        _write(answering, json.dumps(answer).encode())
    except FailureError as failure:
        _write(answering, str(failure).encode())
        os._exit(3)
    except BaseException:
        _write(answering, "".join(traceback.format_exc(limit=-6))[-3_000:].encode())
        os._exit(4)
    os._exit(0)


def _write(pipe: int, content: bytes) -> None:
    with contextlib.suppress(BrokenPipeError):
        while content:
            content = content[os.write(pipe, content) :]


def called(work: Callable[[], Any]) -> Any:
    """What a function returns, in a process of its own."""
    return Child(lambda _: work()).result()


class Ran(NamedTuple):
    """How a command ended, and what it said on standard error."""

    status: int
    errors: str
    seconds: float

    @property
    def refused(self) -> bool:
        """In a sentence, without a traceback."""
        lines = self.errors.strip().splitlines()
        return self.status in (1, 2) and "Traceback" not in self.errors and 0 < len(lines) <= 4

    def __str__(self) -> str:
        return f"exit {self.status}: {self.errors.strip()[-600:]}"


class Command:
    """`quorate ARGUMENT...` in a process of its own."""

    def __init__(
        self,
        arguments: Sequence[object],
        place: Path,
        before: Callable[[], object] = lambda: None,
        output: int | None = None,
    ) -> None:
        self._errors = place / f"errors-{time.monotonic_ns()}"
        self._began = time.monotonic()
        self.pid = os.fork()
        if not self.pid:
            _run(list(map(str, arguments)), self._errors, before, output)

    def kill(self, with_signal: int = signal.SIGKILL) -> None:
        os.kill(self.pid, with_signal)

    def wait(self) -> Ran:
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        seconds = time.monotonic() - self._began
        errors = self._errors.read_text(errors="replace") if self._errors.exists() else ""
        self._errors.unlink(missing_ok=True)
        return Ran(status, errors, seconds)


def _run(
    arguments: list[str], errors: Path, before: Callable[[], object], output: int | None
) -> None:
    status = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT), 2)
        os.dup2(os.open(os.devnull, os.O_RDWR) if output is None else output, 1)
        sys.stdin = os.fdopen(0, "r", closefd=False)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", closefd=False)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        before()
        from quorate.cli import main

        sys.argv = ["quorate", *arguments]
        main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        with contextlib.suppress(BaseException):
            traceback.print_exc()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        status = status or 120
    os._exit(status)


def quorate(*arguments: object, place: Path, before: Callable[[], object] = lambda: None) -> Ran:
    """Run a command to its end."""
    return Command(arguments, place, before).wait()
