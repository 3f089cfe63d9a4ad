"""Nested values in a zip archive: JSON, with NumPy arrays and Parquet tables beside it."""

from __future__ import annotations

import io
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import polars as pl

from quorate.kernels import Floats


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
    with tempfile.TemporaryFile() as table, archive.open(f"names/{name}.parquet", "w") as entry:
        frames.sink_parquet(table)
        table.seek(0)
        shutil.copyfileobj(table, entry)


def get(archive: zipfile.ZipFile, value: Any, models: Mapping[str, Callable[..., Any]]) -> Any:
    """Restore the value that `put` wrote: lists become tuples, and models are made from options."""
    if isinstance(value, list):
        return tuple(get(archive, part, models) for part in value)
    if not isinstance(value, dict):
        return value
    if "array" in value:
        with archive.open(value["array"]) as data:
            array: Floats = np.lib.format.read_array(data)
            return array
    parts = {key: get(archive, part, models) for key, part in value.items()}
    return models[parts.pop("model_kind")](**parts) if "model_kind" in parts else parts


def get_names(archive: zipfile.ZipFile, name: str) -> pl.Series | None:
    """Read the names that `put_names` wrote; None if there are none."""
    entry = f"names/{name}.parquet"
    if entry not in archive.namelist():
        return None
    return pl.read_parquet(io.BytesIO(archive.read(entry)))["name"]
