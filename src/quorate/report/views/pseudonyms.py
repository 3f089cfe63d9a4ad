"""Reports without the workers' names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ONE = ("worker", "other_worker")  # keys that hold a worker
SEVERAL = ("workers", "tipped_by", "too_fast", "drifting")  # keys that hold a list of workers


def under_pseudonyms(report: Mapping[str, Any]) -> dict[str, Any]:
    """The report with "worker 1", "worker 2" for names, in the order of the table of workers; the
    same worker is called the same throughout."""
    names: dict[Any, str] = {}

    def called(name: Any) -> str:
        return names.setdefault(str(name), f"worker {len(names) + 1}")

    def hidden(value: Any, key: str = "") -> Any:
        if isinstance(value, Mapping):
            return {name: hidden(each, name) for name, each in value.items()}
        if isinstance(value, list):
            if key in SEVERAL and all(not isinstance(each, (Mapping, list)) for each in value):
                return [called(each) for each in value]
            return [hidden(each) for each in value]
        return called(value) if key in ONE and value is not None else value

    for row in report["workers"]["rows"]:
        called(row["worker"])
    return {name: hidden(value, name) for name, value in report.items()}
