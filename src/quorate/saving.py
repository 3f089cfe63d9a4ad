"""Nested values in a zip archive: JSON, with NumPy arrays and Parquet tables beside it."""

from __future__ import annotations

import io
import math
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import polars as pl

SMALL = 2**24  # bytes that an entry may have however few they were when packed
DENSEST = 100  # times that text or names may grow when they are unpacked


def put(archive: zipfile.ZipFile, name: str, value: Any) -> Any:
    """Put the arrays of a value into the archive, and return the rest as JSON: named tuples and
    models are objects, other tuples lists."""
    if isinstance(value, np.ndarray):
        return put_array(archive, name, value.shape, value.dtype, [value])
    if is_dataclass(value):
        options = {f.name: getattr(value, f.name) for f in fields(value)}
        return {"model_kind": type(value).__name__, **put(archive, name, options)}
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {key: put(archive, f"{name}/{key}", part) for key, part in value.items()}
    if isinstance(value, tuple):
        return [put(archive, f"{name}/{i}", part) for i, part in enumerate(value)]
    return value


def put_array(
    archive: zipfile.ZipFile,
    name: str,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    parts: Iterable[Any],
) -> dict[str, str]:
    """Write an array that comes in parts along its first axis as an entry of the archive."""
    about = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
        np.lib.format.write_array_header_1_0(entry, about)
        for part in parts:
            entry.write(np.ascontiguousarray(part, dtype=dtype).tobytes())
    return {"array": f"{name}.npy"}


def put_names(archive: zipfile.ZipFile, name: str, names: Iterable[pl.Series]) -> None:
    """Write names that come in parts as a Parquet table in the archive."""
    frames = pl.concat([part.alias("name").to_frame().lazy() for part in names])
    put_table(archive, f"names/{name}", frames)


def put_table(archive: zipfile.ZipFile, name: str, frame: pl.DataFrame | pl.LazyFrame) -> None:
    """Write a table as a Parquet file in the archive."""
    with tempfile.TemporaryFile() as table, archive.open(f"{name}.parquet", "w") as entry:
        frame.lazy().sink_parquet(table)
        table.seek(0)
        shutil.copyfileobj(table, entry)


class Archive(zipfile.ZipFile):
    """An archive that somebody else may have made: nothing is unpacked that is larger than it can
    be, by the size that is declared, beyond which `zipfile` unpacks nothing."""

    largest = 0  # bytes of an array, once the names tell how large one can be

    def content(self, name: str) -> bytes:
        """A whole entry of text or names, which does not shrink much when it is packed."""
        entry = self.getinfo(name)
        if entry.file_size > max(SMALL, DENSEST * entry.compress_size):
            raise ValueError(f"{name} is too large.")
        return self.read(entry)

    def array(self, name: str) -> Any:
        """An array of numbers, whose declared shape is that of the bytes that follow."""
        entry = self.getinfo(name)
        with self.open(entry) as data:
            if entry.file_size > self.largest or np.lib.format.read_magic(data) != (1, 0):
                raise ValueError(f"{name} is too large, or no array.")
            shape, _, dtype = np.lib.format.read_array_header_1_0(data)
            size = math.prod(shape) * dtype.itemsize
            if dtype.kind not in "biuf" or size != entry.file_size - data.tell():
                raise ValueError(f"{name} is not of its shape.")
            array = np.frombuffer(data.read(size), dtype).reshape(shape).copy()
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise ValueError(f"{name} has a value that is no number.")
        return array


def get(archive: Archive, value: Any, models: Mapping[str, Callable[..., Any]]) -> Any:
    """Restore the value that `put` wrote: lists become tuples, and models are made from options."""
    if isinstance(value, list):
        return tuple(get(archive, part, models) for part in value)
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return archive.array(value["array"])
    parts = {key: get(archive, part, models) for key, part in value.items()}
    return models[parts.pop("model_kind")](**parts) if "model_kind" in parts else parts


def get_names(archive: Archive, name: str) -> pl.Series | None:
    """Read the names that `put_names` wrote, all different; None if there are none."""
    table = get_table(archive, f"names/{name}")
    if table is None:
        return None
    names = table["name"]
    if names.null_count() or names.n_unique() < len(names):
        raise ValueError(f"{name} has a name twice, or none.")
    return names


def get_table(archive: Archive, name: str) -> pl.DataFrame | None:
    """Read the table that `put_table` wrote; None if there is none."""
    entry = f"{name}.parquet"
    if entry not in archive.namelist():
        return None
    content = archive.content(entry)
    rows = pl.scan_parquet(io.BytesIO(content)).select(pl.len()).collect().item()
    if rows > DENSEST * len(content):
        raise ValueError(f"{entry} has more rows than it can hold.")
    return pl.read_parquet(io.BytesIO(content))
