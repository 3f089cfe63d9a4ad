"""Requests made up from the server's OpenAPI document, by schemathesis: every answer has to be one
that the document describes, and none of them of the server's own failing (5xx)."""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from requests import Session

from chaos.serve.process import server
from quorate.service.client import Client


@dataclass
class Tally:
    """What was asked, and what did not hold."""

    seed: int
    requests: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    session: Session = field(default_factory=Session)  # whose connections are used again


def fuzz(url: str, requests: int, seed: int) -> Tally:
    """So many requests, as evenly over the routes as can be."""
    import schemathesis
    from schemathesis.core.failures import Failure, FailureGroup

    tally = Tally(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Client(url) as client:
            schema = schemathesis.openapi.from_dict(client.ask("GET", "/openapi.json"))
        operations: list[Any] = [found.ok() for found in list[Any](schema.get_all_operations())]
        # Some routes have little that can be made up: the others get what is left, in a next round.
        while tally.requests < requests:
            each = max((requests - tally.requests) // len(operations), 2)
            for operation in operations:
                _fuzz_one(operation, url, each, tally, (Failure, FailureGroup))
            tally.seed += 1
    return tally


def _fuzz_one(
    operation: Any, url: str, requests: int, tally: Tally, kinds: tuple[Any, ...]
) -> None:
    streams = operation.path.endswith("/events")

    @seeded(tally.seed)
    @settings(
        max_examples=requests,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def ask(case: Any) -> None:
        if streams:
            case.query = {**(case.query or {}), "last": 1}
        if case.path_parameters and "project" in case.path_parameters and tally.requests % 4:
            case.path_parameters["project"] = "birds"
        tally.requests += 1
        answer = case.call(base_url=url, session=tally.session, timeout=60)
        tally.statuses[answer.status_code] += 1
        if answer.status_code >= 500:
            tally.failures.append(f"{case.method} {case.formatted_path}: {answer.status_code}")
            return
        try:
            case.validate_response(answer, checks=_checks())
        except kinds as failure:
            told = " ".join(str(failure).split())[:400]
            tally.failures.append(f"{case.method} {case.formatted_path}: {told}")

    ask()


def _checks() -> list[Any]:
    """Statuses, kinds and shapes of answers are those of the document."""
    from schemathesis import checks
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    return [
        checks.not_a_server_error,
        status_code_conformance,
        content_type_conformance,
        response_schema_conformance,
    ]


def main() -> None:
    """Fuzz a server that is started for it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, server(str(Path(place) / "fuzz.db")) as (url, *_):
        with Client(url) as client:
            client.create("birds", classes=["a", "b"])
            client.add([("t", "ann", "a"), ("u", "ann", "b")])
        tally = fuzz(url, asked.requests, asked.seed)
    statuses = dict(tally.statuses)
    click.echo(f"{tally.requests:,} requests, {len(tally.failures)} failures: {statuses}")
    for failure in tally.failures[:20]:
        click.echo(f"  {failure}")
    raise SystemExit(bool(tally.failures))


if __name__ == "__main__":
    main()
