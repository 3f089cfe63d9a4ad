"""Placeholder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import polars as pl

CATALOGUE = dict.fromkeys(
    "adult2 bird bm d_possent dawid_skene_1979 dog dog_min40 iris_ma labelme mushroom rte s_rel"
    " sp temp trec vote weather web wsd".split()
)


@dataclass(frozen=True)
class State:
    status: str
    reason: str = ""
    checksum: str = ""


def data_directory(given: str | Path | None = None) -> Path:
    default = Path(__file__).resolve().parents[4] / "shared" / "data"
    return Path(given or os.environ.get("QUORATE_DATA") or default)


def state(name: str, directory: Path) -> State:
    here = (directory / name).is_dir()
    return State("here" if here else "absent", "" if here else f"{name} is not in {directory}.")


def votes(name: str, directory: Path) -> pl.DataFrame:
    return pl.read_csv(directory / name / "labels.csv", infer_schema=False)


def gold(name: str, directory: Path) -> pl.DataFrame:
    return pl.read_csv(directory / name / "gold.csv", infer_schema=False)


def features(name: str, directory: Path) -> pl.DataFrame:
    return pl.read_csv(directory / name / "features.csv", infer_schema=False)
