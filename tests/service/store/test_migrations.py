"""From the first version's file to this one's tables."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from quorate.errors import DataError
from quorate.service import views
from quorate.service.service import Service
from quorate.service.store.migrations import VERSION

FIRST = Path(__file__).with_name("first.db")


def test_the_first_versions_file_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "project.db"
    shutil.copy(FIRST, path)
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("SELECT version FROM schema").fetchall() == [(1,)]
    service = Service(str(path))
    project = service.project("birds")
    assert views.summary(project)["votes"] == 89
    assert views.labels_frame(project).filter(task="t3").rows() == [("t3", "cat", 1.0, 3)]
    service.close()
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("SELECT version FROM schema").fetchall() == [(VERSION,)]
        assert file.execute("SELECT count(*) FROM tokens").fetchone() == (0,)


def test_a_later_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "project.db"
    shutil.copy(FIRST, path)
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE schema SET version = 99")
    with pytest.raises(DataError, match="tables of version 99; this Quorate knows"):
        Service(str(path))
