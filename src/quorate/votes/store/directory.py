"""A directory of votes in blocks, with their names and a manifest."""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import polars as pl

from quorate.errors import DataError
from quorate.votes.naming import keys, retyped
from quorate.votes.reading import ReadReport
from quorate.votes.store.blocks import WORKER_KEYS, StoredBlocks
from quorate.votes.store.owned import clear
from quorate.votes.store.seals import Seal, checksum, read_names, reading, writing
from quorate.votes.store.shuffle import block_place, save, write

FORMAT = 5
MANIFEST = "votes.json"
PARTS = ("scattered", "gathered", "blocks")  # directories of a store


@dataclass(frozen=True)
class Manifest:
    """Contents of the directory; written last, so that a directory with a manifest is whole.
    `origin` tells these votes from others, `seals` are those of the blocks, and `workers` and
    `labels` the checksums of the names."""

    origin: str
    rows: int
    missing: int
    repeated: int
    repeats_kept: bool
    n_tasks: int
    n_votes: int
    seals: tuple[Seal, ...]
    task_type: str
    text: bool
    workers: int = 0
    labels: int = 0
    format: int = FORMAT

    def as_json(self) -> str:
        about = {**asdict(self), "seals": [list(seal) for seal in self.seals]}
        return json.dumps({**about, "checksum": _sum_of(about)})

    @classmethod
    def of_json(cls, found: dict[str, Any]) -> Manifest:
        """The manifest that `as_json` wrote; an exception if it is not such a one."""
        if found.pop("checksum") != _sum_of(found):
            raise ValueError("checksum")
        manifest = cls(**{**found, "seals": tuple(Seal(*seal) for seal in found["seals"])})
        numbers = [number for seal in manifest.seals for number in seal]
        if not numbers or any(type(number) is not int or number < 0 for number in numbers):
            raise ValueError("seals")
        ends = list(accumulate(seal.tasks for seal in manifest.seals))
        starts = [seal.start for seal in manifest.seals]
        votes = sum(seal.votes for seal in manifest.seals)
        if (*starts, manifest.n_tasks) != (0, *ends) or votes != manifest.n_votes:
            raise ValueError("sizes")
        return manifest


def _sum_of(about: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(about, sort_keys=True).encode())


@dataclass(frozen=True)
class Store:
    """Votes in a directory, in blocks of whole tasks."""

    root: Path
    manifest: Manifest

    @classmethod
    def open(cls, root: Path) -> Store | None:
        """Open a store; None if nothing is there, or not all of it."""
        path = root / MANIFEST
        if not path.exists():
            return None
        with reading(path):
            found = json.loads(path.read_text())
            if found["format"] != FORMAT:
                raise DataError(f"{root} holds votes of another version of Quorate: remove it.")
            return cls(root, Manifest.of_json(found))

    @classmethod
    def finish(cls, root: Path, manifest: Manifest, workers: pl.Series, labels: pl.Series) -> Store:
        """Write the names and the manifest, and remove intermediate files."""
        sums: dict[str, Any] = {}
        for name, names in (("workers", workers), ("labels", labels)):
            write(names.alias("name").to_frame(), root / f"{name}.arrow")
            sums[name] = checksum(root / f"{name}.arrow")
        for name in ("scattered", "gathered"):
            clear(root / name)
        manifest = replace(manifest, **sums)
        unfinished = root / f"{MANIFEST}.part"
        unfinished.write_text(manifest.as_json())
        unfinished.replace(root / MANIFEST)
        return cls(root, manifest)

    @property
    def workers(self) -> pl.Series:
        return self._names("workers").alias("worker")

    @property
    def labels(self) -> pl.Series:
        """Names of the labels, in the order of their codes on disk."""
        return self._names("labels").alias("label")

    def _names(self, kind: str) -> pl.Series:
        names = read_names(self.root / f"{kind}.arrow", getattr(self.manifest, kind), "name")
        return retyped(names) if self.manifest.text else names

    @property
    def report(self) -> ReadReport:
        m = self.manifest
        return ReadReport(m.rows, m.missing, m.repeated, m.repeats_kept)

    def blocks(self, run: Path) -> StoredBlocks:
        """The blocks, with the label codes of the disk; values attached to them go to `run`."""
        m, workers = self.manifest, self.workers
        with writing(run):
            run.mkdir(exist_ok=True)
            save(run, **{WORKER_KEYS: keys(workers)})
        starts = tuple(seal.start for seal in m.seals)
        types = {"Int64": pl.Int64(), "Boolean": pl.Boolean()}
        blocks = StoredBlocks(
            tuple(block_place(self.root, start) for start in starts),
            starts,
            m.seals,
            m.n_tasks,
            m.n_votes,
            len(workers),
            len(self.labels),
            run,
            types.get(m.task_type, pl.String()),
            m.text,
        )
        return blocks if m.text else replace(blocks, task_type=blocks.task_names(0).dtype)
