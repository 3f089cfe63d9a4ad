"""A directory of votes in blocks, with their names and a manifest."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from quorate.errors import DataError
from quorate.votes.naming import retyped
from quorate.votes.reading import ReadReport
from quorate.votes.store.blocks import StoredBlocks
from quorate.votes.store.shuffle import block_place, write

FORMAT = 3
MANIFEST = "votes.json"


@dataclass(frozen=True)
class Manifest:
    """Contents of the directory; written last, so that a directory with a manifest is whole.
    `origin` tells these votes from others."""

    origin: dict[str, Any]
    rows: int
    missing: int
    repeated: int
    repeats_kept: bool
    n_tasks: int
    n_votes: int
    starts: list[int]
    task_type: str
    text: bool
    format: int = FORMAT


@dataclass(frozen=True)
class Store:
    """Votes in a directory, in blocks of whole tasks."""

    root: Path
    manifest: Manifest

    @classmethod
    def open(cls, root: Path) -> Store | None:
        """Open a store; None if nothing is there, or not all of it."""
        try:
            found = json.loads((root / MANIFEST).read_text())
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            raise DataError(f"{root} holds votes that cannot be read: remove it.") from None
        if found.get("format") != FORMAT:
            raise DataError(f"{root} holds votes of another version of Quorate: remove it.")
        return cls(root, Manifest(**found))

    @classmethod
    def finish(cls, root: Path, manifest: Manifest, workers: pl.Series, labels: pl.Series) -> Store:
        """Write the names and the manifest, and remove intermediate files."""
        write(workers.alias("name").to_frame(), root / "workers.arrow")
        write(labels.alias("name").to_frame(), root / "labels.arrow")
        for name in ("scattered", "gathered"):
            shutil.rmtree(root / name, ignore_errors=True)
        unfinished = root / f"{MANIFEST}.part"
        unfinished.write_text(json.dumps(asdict(manifest)))
        unfinished.replace(root / MANIFEST)
        return cls(root, manifest)

    @property
    def workers(self) -> pl.Series:
        names = pl.read_ipc(self.root / "workers.arrow")["name"].alias("worker")
        return retyped(names) if self.manifest.text else names

    @property
    def labels(self) -> pl.Series:
        """Names of the labels, in the order of their codes on disk."""
        names = pl.read_ipc(self.root / "labels.arrow")["name"].alias("label")
        return retyped(names) if self.manifest.text else names

    @property
    def report(self) -> ReadReport:
        m = self.manifest
        return ReadReport(m.rows, m.missing, m.repeated, m.repeats_kept)

    @property
    def task_type(self) -> pl.DataType:
        if not self.manifest.text:
            return self._first_names.dtype
        types = {"Int64": pl.Int64(), "Boolean": pl.Boolean()}
        return types.get(self.manifest.task_type, pl.String())

    @property
    def _first_names(self) -> pl.Series:
        place = block_place(self.root, self.manifest.starts[0])
        return pl.read_ipc(place / "tasks.arrow")["task"]

    def blocks(self, run: Path) -> StoredBlocks:
        """The blocks, with the label codes of the disk; values attached to them go to `run`."""
        m = self.manifest
        return StoredBlocks(
            tuple(block_place(self.root, start) for start in m.starts),
            tuple(m.starts),
            m.n_tasks,
            m.n_votes,
            len(self.workers),
            len(self.labels),
            run,
            self.task_type,
            m.text,
        )
