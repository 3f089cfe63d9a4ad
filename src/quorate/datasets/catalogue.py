"""The known data sets, as `catalogue.toml` has them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.resources import files
from typing import Any

from quorate.datasets import originals
from quorate.datasets.originals import Convert, Tables

CONVERTERS: Mapping[str, Callable[..., Tables]] = {
    convert.__name__: convert
    for convert in (
        originals.annotations_with_gold,
        originals.archive_of_answers,
        originals.archive_of_attributes,
        originals.confirmed_tweets,
        originals.dictionary_in_python,
        originals.matrix,
        originals.rows_of_votes,
    )
}
FEATURES = {make.__name__: make for make in (originals.above_median, originals.words)}
TRIED = {
    "whole": "tried on all of the original",
    "part": "tried on the first rows of the original",
    "no": "not tried on the original yet",
}


@dataclass(frozen=True)
class DataSet:
    """A public data set.

    Attributes:
        name: Its directory and what it is called here.
        summary: What was asked of whom.
        source: The address of the original, for people.
        licence: As the original states it.
        urls: The original files.
        convert: Makes the tables of those files.
        tasks: How many tasks have votes (or known answers, where nobody voted).
        workers: How many people (or simulated ones) voted.
        labels: How many votes there are.
        classes: How many different answers.
        gold: How many known answers.
        n_features: How many binary features the tasks may have.
        checksums: Of each table, by `quorate.datasets.checksum`.
        commit: Of the repository, where the original is in one.
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
    """Data sets by name, read when first asked for."""

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
    """Where the original is, and its files: in a repository at a commit, or elsewhere."""
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
    """A converter with its options, among which `features` names a function too."""
    settings = dict(options)
    if "features" in settings:
        settings["features"] = FEATURES[settings["features"]]
    return partial(CONVERTERS[name], **settings)


CATALOGUE: Mapping[str, DataSet] = Catalogue()
