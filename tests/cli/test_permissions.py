"""Directories that may not be entered: one sentence, whatever is looked for in them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import quorate
from quorate.cli import main

VOTES = "task,worker,label\nt1,ann,yes\nt1,bob,no\n"
NOBODY = 65534


@pytest.fixture(autouse=True)
def locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory that is closed to whoever runs the test, who is nobody for a while if root."""
    quorate.aggregate([("t", "ann", "yes")], "majority")  # what is imported late may be closed too
    monkeypatch.chdir(tmp_path)
    Path("votes.csv").write_text(VOTES)
    Path("locked").mkdir()
    Path("locked/votes.csv").write_text(VOTES)
    Path("locked").chmod(0)
    is_root = os.geteuid() == 0
    if is_root:
        for place in (tmp_path, *tmp_path.parents[:3]):
            if place != Path("/tmp"):
                place.chmod(0o755)
        os.seteuid(NOBODY)
    yield tmp_path
    if is_root:
        os.seteuid(0)
    Path("locked").chmod(0o755)


@pytest.mark.parametrize(
    "args",
    [
        "locked/votes.csv",
        "votes.csv --gold locked/gold.csv",
        "votes.csv -o locked/labels.csv",
        "votes.csv --save locked/r.quorate",
    ],
)
def test_a_directory_that_may_not_be_entered(args: str) -> None:
    result = CliRunner().invoke(main, ["aggregate", "-m", "majority", *args.split()])
    assert isinstance(result.exception, SystemExit) and result.exit_code in (1, 2)
    assert result.stderr.count("\n") == 1 and "Permission denied" in result.stderr
