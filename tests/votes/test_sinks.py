"""Files appear all together or not at all, never over what is read, and streams are written to."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import polars as pl
import pytest

from quorate.errors import DataError, UsageError
from quorate.votes import Outputs, check_place, require_apart

TABLE = pl.DataFrame({"task": [1, 2], "label": ["cat", "dog"]})
CSV = "task,label\n1,cat\n2,dog\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names() -> list[str]:
    return sorted(path.name for path in Path().iterdir())


def test_a_place_that_cannot_be_taken_leaves_all_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("old.csv").write_text("old")
    replace = Path.replace

    def refuse(self: Path, target: Path) -> Path:
        if target.name == "last.csv":
            raise PermissionError(1, "Operation not permitted")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", refuse)
    refused = pytest.raises(
        DataError, match=r"last\.csv cannot be written: Operation not permitted"
    )
    with refused, Outputs() as outputs:
        for name in ("old.csv", "new.csv", "last.csv"):
            outputs.table(TABLE, name)
    assert names() == ["old.csv"] and Path("old.csv").read_text() == "old"


def test_a_link_stays_a_link() -> None:
    Path("real.csv").write_text("old")
    for link, target in (("link.csv", "real.csv"), ("dangling.csv", "fresh.csv")):
        Path(link).symlink_to(target)
        with Outputs() as outputs:
            outputs.table(TABLE, link)
        assert Path(link).is_symlink() and Path(target).read_text() == CSV
    assert names() == ["dangling.csv", "fresh.csv", "link.csv", "real.csv"]


@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_written_to(linked: bool) -> None:
    os.mkfifo("pipe.csv")
    Path("link.csv").symlink_to("pipe.csv")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(Path("pipe.csv").read_text()))
    reader.start()
    with Outputs() as outputs:
        outputs.table(TABLE, "link.csv" if linked else "pipe.csv")
    reader.join(10)
    assert read == [CSV] and Path("pipe.csv").is_fifo()


def test_a_device_is_written_to_before_files_appear() -> None:
    Path("full.csv").symlink_to("/dev/full")
    refused = pytest.raises(DataError, match=r"full\.csv cannot be written: No space left")
    with refused, Outputs() as outputs:
        outputs.table(TABLE, "labels.csv")
        outputs.table(TABLE, "full.csv")
    assert names() == ["full.csv"] and Path("full.csv").is_symlink()


def test_a_name_as_long_as_names_can_be() -> None:
    name = "x" * 251 + ".csv"
    with Outputs() as outputs:
        outputs.table(TABLE, name)
    assert Path(name).read_text() == CSV
    with pytest.raises(DataError, match="File name too long"):
        check_place("x" + name)


@pytest.mark.parametrize("output", ["v.csv", "./v.csv", "d/../v.csv", "hard.csv", "soft.csv"])
@pytest.mark.parametrize("read", ["v.csv", "v.*", "d", "hard.csv"])
def test_no_output_is_an_input(output: str, read: str) -> None:
    Path("v.csv").write_text(CSV)
    Path("hard.csv").hardlink_to("v.csv")
    Path("soft.csv").symlink_to("v.csv")
    Path("d").mkdir()
    Path("d/inside.csv").hardlink_to("v.csv")
    with pytest.raises(UsageError, match=f"{output} is an input too"):
        require_apart([output], ["http://elsewhere/v.csv", read])


def test_two_outputs_are_two_files() -> None:
    Path("d").symlink_to(".")
    for other in ("out.csv", "./out.csv", "d/out.csv"):
        with pytest.raises(UsageError, match="Two outputs go to"):
            require_apart(["out.csv", other], [])
    require_apart(["out.csv", "other.csv", "/dev/null", "/dev/null"], ["-", "/dev/null"])
