"""Directories of one process, interrupted while they are removed."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from quorate.votes.store import owned
from quorate.votes.store.owned import OwnedDirectory


def interrupted(nth: int) -> tuple[Any, list[int]]:
    """A tracer that interrupts at the nth line of the removal, once; and the lines so far."""
    seen: list[int] = []

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != owned.__file__:
            return None
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
        if event == "line" and line != "return":  # where Python looks for no signals
            seen.append(frame.f_lineno)
            if len(seen) == nth:
                raise KeyboardInterrupt
        return trace

    return trace, seen


def test_interrupted_at_any_line_of_its_removal_a_directory_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    escaped: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", escaped.append)
    for nth in range(3, 200):  # the first lines are those before anything can be caught
        directory: OwnedDirectory | None = OwnedDirectory.new(tmp_path, "quorate")
        assert directory is not None
        path = directory.path
        (path / "blocks").mkdir()
        (path / "blocks" / "tasks.arrow").touch()
        trace, seen = interrupted(nth)
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            directory = None
        finally:
            sys.settrace(before)
        assert not path.exists() and not escaped, (nth, seen[-1:])
        if len(seen) < nth:
            break
    assert 20 < nth < 199
