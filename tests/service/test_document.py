"""Requests made up from the OpenAPI document: no answer that it does not describe, none of 5xx."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.service.serving import serving

from chaos.serve.fuzz import Tally, fuzz
from quorate.service.service import Service
from quorate.service.settings import Settings


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    service = Service(str(tmp_path / "project.db"))
    service.create("birds", Settings(classes=("a", "b"))).result()
    service.vote(service.project("birds"), [("t", "ann", "a"), ("u", "ann", "b")]).result()
    with serving(service) as url:
        yield url
    service.close()


def test_every_answer_is_described(url: str) -> None:
    tally: Tally = fuzz(url, requests=300, seed=1)
    assert tally.requests >= 250
    assert not tally.failures, "\n".join(tally.failures[:5])
