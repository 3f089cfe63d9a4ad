"""The state as of a place in the log, so that opening need not go through everything again."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from quorate.errors import DataError

KEPT = 2


def write(directory: Path, end: int, about: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Whole or not at all, beside the one before it; older ones go."""
    path = directory / f"snapshot-{end:020}.zip"
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("about.json", json.dumps(about))
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, np.ascontiguousarray(array))
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    for old in _found(directory)[KEPT:]:
        old.unlink()


def newest(directory: Path, end: int) -> tuple[int, dict[str, Any], dict[str, Any]] | None:
    """The latest that is whole: its place in the log, whose end is given, and what it holds."""
    for path in _found(directory):
        place = int(path.stem.removeprefix("snapshot-"))
        if place > end:
            raise DataError(
                f"The log in {directory} is shorter than when it was last written: restore it from"
                " a copy."
            )
        try:
            with zipfile.ZipFile(path) as archive:
                about = json.loads(archive.read("about.json"))
                arrays = {}
                for name in archive.namelist():
                    if name.endswith(".npy"):
                        with archive.open(name) as entry:
                            arrays[name.removesuffix(".npy")] = np.lib.format.read_array(entry)
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            continue  # the log has all of it
        return place, about, arrays
    return None


def _found(directory: Path) -> list[Path]:
    return sorted(directory.glob("snapshot-*.zip"), reverse=True)
