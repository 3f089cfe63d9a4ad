"""Hugging Face: a Parquet file of tasks that `datasets` loads with its features."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import polars as pl

from quorate.errors import UsageError
from quorate.votes.naming import find
from quorate.votes.readers.opening import Opened
from quorate.votes.writers.writer import Outcome, Writer, only

VOTES = ("workers", "votes")  # parallel lists


class HuggingFace(Writer):
    """A row for each task: its label, the confidence, the posterior as a list in the order of the
    classes, and its votes as two lists. Labels are codes of the classes, which the features
    name."""

    name = "huggingface"
    title = "Hugging Face"
    needs_export = False

    def write(
        self,
        outcomes: Mapping[str, Outcome],
        export: Sequence[Opened],
        file: BinaryIO,
        **options: Any,
    ) -> None:
        outcome = only(self, outcomes)
        frame = _frame(outcome)
        features = _features(frame, [str(name) for name in outcome.classes])
        about = {"info": {"features": features}}
        arrow, parquet = _pyarrow()
        table = frame.to_arrow().replace_schema_metadata({"huggingface": json.dumps(about)})
        parquet.write_table(table, arrow.PythonFile(file, "w"))


def _pyarrow() -> tuple[Any, Any]:
    """PyArrow, as polars does not write what `datasets` looks for: metadata of the schema."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise UsageError("--as huggingface needs pyarrow: pip install quorate[pandas].") from None
    return pyarrow, parquet


def _frame(outcome: Outcome) -> pl.DataFrame:
    labels, classes = outcome.labels, outcome.classes
    kept = [name for name in labels.columns if name not in ("task", "label", "confidence")]
    said = outcome.votes().select(
        "task",
        pl.col("worker").cast(pl.String).alias("workers"),
        find_codes(pl.col("label"), classes).alias("votes"),
    )
    votes = said.group_by("task", maintain_order=True).agg(*VOTES)
    frame = labels.select(
        "task",
        _codes(labels["label"], classes),
        "confidence",
        pl.Series("posterior", outcome.posterior.tolist(), dtype=pl.List(pl.Float64)),
        *kept,
    )
    return frame.join(votes, on="task", how="left", maintain_order="left")


def find_codes(label: pl.Expr, classes: pl.Series) -> pl.Expr:
    """The codes of labels, null for none."""
    codes = pl.Series(range(len(classes)), dtype=pl.Int64)
    return label.replace_strict(classes, codes, default=None, return_dtype=pl.Int64)


def _codes(labels: pl.Series, classes: pl.Series) -> pl.Series:
    """The codes of labels, or of lists of them."""
    if labels.dtype != pl.List:
        return find(labels, classes).cast(pl.Int64).alias("label")
    frame = labels.alias("label").to_frame()
    codes = frame.select(pl.col("label").list.eval(find_codes(pl.element(), classes)))
    return codes["label"]


def _features(frame: pl.DataFrame, classes: Sequence[str]) -> dict[str, Any]:
    """The types of the columns, as `datasets` writes them."""
    of_class = {"names": list(classes), "_type": "ClassLabel"}
    features: dict[str, Any] = {}
    for name, dtype in frame.schema.items():
        is_list = isinstance(dtype, pl.List)
        if name in ("label", "votes"):
            one: dict[str, Any] = of_class
        else:
            one = {"dtype": _dtype(dtype.inner if isinstance(dtype, pl.List) else dtype)}
            one["_type"] = "Value"
        features[name] = {"feature": one, "_type": "LargeList"} if is_list else one
    return features


def _dtype(dtype: Any) -> str:
    """What `datasets` calls a type."""
    if dtype == pl.String or dtype in (pl.Categorical, pl.Enum):
        return "large_string"
    if dtype == pl.Boolean:
        return "bool"
    return str(dtype).lower()
