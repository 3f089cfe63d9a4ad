"""Results on disk: JSON for everything, CSV for each table, SVG and PNG for each figure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from quorate.errors import DataError
from reproductions.running import Outcome

NAME = "results.json"


def as_dict(outcome: Outcome, made: Mapping[str, Any], absent: Sequence[str]) -> dict[str, Any]:
    """Everything of an outcome that JSON can hold; what is not a number is null."""
    experiment = outcome.experiment
    result = {
        "experiment": experiment.name,
        "title": experiment.title,
        "paper": experiment.paper,
        "summary": experiment.summary,
        "made": dict(made),
        "seconds": round(outcome.seconds, 1),
        "absent": list(absent),
        **asdict(outcome.report),
    }
    plain: dict[str, Any] = _plain(result)
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):  # a number of NumPy's
        value = value.item()
    if isinstance(value, float):
        # Ten digits: the last ones of a float may differ from machine to machine.
        return float(f"{value:.10g}") if math.isfinite(value) else None
    return value


def write(result: Mapping[str, Any], out: Path) -> list[Path]:
    """Every file of one experiment's results, in a directory of its name."""
    from quorate.votes import Outputs

    directory = out / result["experiment"]
    directory.mkdir(parents=True, exist_ok=True)
    paths = [directory / NAME]
    with Outputs() as outputs:
        text = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
        outputs.file(str(paths[0]), lambda file: file.write(text.encode()))
        for table in result["tables"]:
            paths.append(directory / f"{table['name']}.csv")
            outputs.table(_frame(table["rows"]), str(paths[-1]))
    return [*paths, *draw(result, out)]


def draw(result: Mapping[str, Any], out: Path) -> list[Path]:
    """The figures of one experiment's results."""
    from quorate.votes import Outputs
    from reproductions.drawing import drawn

    paths = []
    with Outputs() as outputs:
        for figure in result["figures"]:
            with drawn(figure) as save:
                for kind in ("svg", "png"):
                    paths.append(out / result["experiment"] / f"{figure['name']}.{kind}")
                    outputs.file(str(paths[-1]), partial(save, kind))
    return paths


def _frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    import polars as pl

    return pl.DataFrame(rows, infer_schema_length=None, strict=False)


def read(out: Path) -> list[dict[str, Any]]:
    """The results of every experiment in a directory, in the order of `--list`."""
    from reproductions import EXPERIMENTS

    found = [out / name / NAME for name in EXPERIMENTS if (out / name / NAME).exists()]
    if not found:
        raise DataError(
            f"There are no results in {out}: `python -m reproductions all --out {out}` makes them."
        )
    return [_read_one(path) for path in found]


def _read_one(path: Path) -> dict[str, Any]:
    try:
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise DataError(
            f"{path} is not JSON: make it again with `python -m reproductions`."
        ) from None
    return result
