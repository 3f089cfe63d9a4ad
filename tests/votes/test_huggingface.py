"""Datasets of Hugging Face, and what stands in for them where the library is not there."""

from __future__ import annotations

from typing import Any, ClassVar

import pyarrow as pa
import pytest

from quorate.errors import UsageError
from quorate.votes import read_votes

ROWS = {"task": [1, 1, 2], "worker": ["a", "b", "a"], "label": [0, 1, -1]}


class ClassLabel:
    names = ("cat", "dog")


class Dataset:
    """As much of a dataset as is asked of it: rows in the order of its own index."""

    __module__ = "datasets.arrow_dataset"
    features: ClassVar[Any] = {"task": object(), "worker": object(), "label": ClassLabel()}

    def __len__(self) -> int:
        return 3

    def with_format(self, kind: str) -> Any:
        assert kind == "arrow"
        return pa.table(ROWS)


class Splits(dict[str, Any]):
    __module__ = "datasets.dataset_dict"


class Streamed:
    __module__ = "datasets.iterable_dataset"


def test_the_names_of_class_labels_are_the_labels() -> None:
    votes = read_votes(Dataset())
    assert votes.codebook.classes.to_list() == ["cat", "dog"]
    assert votes.report.missing == 1
    assert read_votes(Splits(train=Dataset())).labels.n_labels == 2


def test_splits_and_streams_are_one_sentence() -> None:
    with pytest.raises(UsageError) as raised:
        read_votes(Splits(train=Dataset(), test=Dataset()))
    assert str(raised.value) == (
        "The dataset has several splits: train, test; give one of them, such as dataset['train']."
    )
    with pytest.raises(UsageError, match="load it without streaming"):
        read_votes(Streamed())


def test_a_dataset_of_the_library_itself() -> None:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        task=datasets.Value("int64"),
        worker=datasets.Value("string"),
        label=datasets.ClassLabel(names=["cat", "dog"]),
    )
    dataset = datasets.Dataset.from_dict(ROWS, features=features)
    assert read_votes(dataset).codebook.classes.to_list() == ["cat", "dog"]
    chosen = dataset.select([1])
    assert read_votes(chosen).codebook.workers.to_list() == ["b"]
    with pytest.raises(UsageError, match="several splits"):
        read_votes(datasets.DatasetDict(train=dataset, test=dataset))
