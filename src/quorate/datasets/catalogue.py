"""Catalogue of the known data sets, from `catalogue.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.resources import files
from typing import Any

from quorate.datasets import originals
from quorate.datasets.originals import Convert

TRIED = {
    "whole": "tried on all of the original",
    "part": "tried on the first rows of the original",
    "no": "not tried on the original yet",
}


@dataclass(frozen=True)
class DataSet:
    """A public data set.

    Attributes:
        name: Name of the data set, and of its directory.
        summary: What was asked of whom.
        source: Address of the original, for people.
        licence: Licence, as the original states it.
        urls: Addresses of the original files.
        convert: Function that makes the tables of those files.
        tasks: Number of tasks with votes (or with gold answers, where nobody voted).
        workers: Number of people (or simulated ones) who voted.
        labels: Number of votes.
        classes: Number of different answers.
        gold: Number of gold answers.
        n_features: Number of binary features of the tasks.
        checksums: Checksum of each table, by `quorate.datasets.checksum`.
        commit: Commit of the repository, where the original is in one.
        tried: How far the conversion was tried on the original files.
        derived: Tables that were made from the original and may be lacking.
    """

    name: str
    summary: str
    source: str
    licence: str
    urls: tuple[str, ...]
    convert: Convert
    tasks: int
    workers: int
    labels: int
    classes: int
    gold: int
    n_features: int
    checksums: Mapping[str, str]
    commit: str = ""
    tried: str = TRIED["no"]
    derived: tuple[str, ...] = ()


class Catalogue(Mapping[str, DataSet]):
    """Data sets by name, read on first use."""

    @cached_property
    def _data_sets(self) -> dict[str, DataSet]:
        text = files("quorate.datasets").joinpath("catalogue.toml").read_text(encoding="utf-8")
        tables = tomllib.loads(text)
        repositories = tables["repositories"]
        return {
            name: _data_set(name, entry, repositories)
            for name, entry in tables["data-sets"].items()
        }

    def __getitem__(self, name: str) -> DataSet:
        return self._data_sets[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data_sets)

    def __len__(self) -> int:
        return len(self._data_sets)


def _data_set(
    name: str, entry: Mapping[str, Any], repositories: Mapping[str, Mapping[str, str]]
) -> DataSet:
    where = {"repository", "files", "source", "urls"}
    how = {"convert", "options", "tried", "derived"}
    facts = {key: value for key, value in entry.items() if key not in where | how}
    return DataSet(
        name=name,
        convert=_converter(entry["convert"], entry.get("options", {})),
        tried=TRIED[entry.get("tried", "no")],
        derived=tuple(entry.get("derived", ())),
        **_places(entry, repositories),
        **facts,
    )


def _places(
    entry: Mapping[str, Any], repositories: Mapping[str, Mapping[str, str]]
) -> dict[str, Any]:
    """Source and files of the original: in a repository at a commit, or elsewhere."""
    if "repository" not in entry:
        return {"source": entry["source"], "urls": tuple(entry["urls"])}
    repository = repositories[entry["repository"]]
    name, commit = repository["name"], repository["commit"]
    raw = f"https://raw.githubusercontent.com/{name}/{commit}"
    return {
        "source": f"https://github.com/{name}",
        "commit": commit,
        "urls": tuple(f"{raw}/{path}" for path in entry["files"]),
    }


def _converter(name: str, options: Mapping[str, Any]) -> Convert:
    """Converter in `originals` of this name with its options, of which `features` names a function
    there too."""
    settings = dict(options)
    if "features" in settings:
        settings["features"] = getattr(originals, settings["features"])
    return partial(getattr(originals, name), **settings)


CATALOGUE: Mapping[str, DataSet] = Catalogue()
