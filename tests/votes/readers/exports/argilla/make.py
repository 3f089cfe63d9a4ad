"""Write records with the classes of Argilla's SDK, in each form in which it exports them.

python -m tests.votes.readers.exports.argilla.make
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from uuid import UUID

from tests.votes.readers.exports.crowd import (
    ABOUT,
    PEOPLE,
    SENTIMENT,
    TEXTS,
    entered,
    vote,
    write_entered,
)

if TYPE_CHECKING:
    import argilla

HERE = Path(__file__).parent
USERS = {name: UUID(int=7 + place) for place, name in enumerate(PEOPLE)}
STATUS = {("bob", 2): "draft", ("cyd", 5): "discarded"}  # of everything else "submitted"
AGENT = "small-model"
SUGGESTED = ("Positive", "Neutral") * 4


def record(place: int) -> argilla.Record:
    """A record with everybody's responses, and a suggestion."""
    import argilla
    from argilla.responses import ResponseStatus

    responses = [
        argilla.Response(question, value, user_id=USERS[name], status=ResponseStatus(status))
        for name in PEOPLE
        for status in [STATUS.get((name, place), "submitted")]
        for question, value in (
            ("sentiment", SENTIMENT[name][place]),
            ("topics", list(ABOUT[name][place])),
        )
    ]
    return argilla.Record(
        id=f"review-{place}",
        fields={"text": TEXTS[place]},
        metadata={"place": place},
        responses=responses,
        suggestions=[argilla.Suggestion("sentiment", SUGGESTED[place], score=0.5, agent=AGENT)],
    )


def votes(places: range, with_all: bool) -> list[dict[str, Any]]:
    """The votes: all responses where a form does not tell their status, else those submitted."""
    return [
        vote(question, f"review-{place}", str(USERS[name]), label)
        for place in places
        for name in PEOPLE
        for question, label in (
            ("sentiment", SENTIMENT[name][place]),
            ("topics", list(ABOUT[name][place])),
        )
        if with_all or (name, place) not in STATUS
    ]


def main() -> None:
    """Write the files, and what was entered."""
    import argilla
    from argilla.records._io import GenericIO, HFDatasetsIO, JsonIO

    records = [record(place) for place in range(len(TEXTS))]
    (HERE / "nested.json").unlink(missing_ok=True)
    JsonIO.to_json(records, HERE / "nested.json")
    flat = GenericIO.to_list(records, flatten=True)
    (HERE / "flat.json").write_text(json.dumps(flat))
    columns = GenericIO.to_dict(records, flatten=True)
    (HERE / "columns.json").write_text(json.dumps(columns))
    # What `to_datasets` asks of a data set, which only a server can make.
    kinds = {"sentiment": "label_selection", "topics": "multi_label_selection"}
    schema = {question: SimpleNamespace(type=kind) for question, kind in kinds.items()}
    table = HFDatasetsIO.to_datasets(records, SimpleNamespace(schema=schema))
    table.to_parquet(HERE / "datasets.parquet")
    table.to_json(HERE / "datasets.jsonl")
    everything = votes(range(len(TEXTS)), with_all=True)
    submitted = votes(range(len(TEXTS)), with_all=False)
    said = [vote("sentiment", f"review-{i}", AGENT, label) for i, label in enumerate(SUGGESTED)]
    dropped = {"drafts": 2, "discarded": 2}
    coded = {"suggestions in codes without names": len(SUGGESTED)}
    flattened = entered([*submitted, *said], dropped=dropped)
    files = {
        "nested.json": entered([*everything, *said]),
        "flat.json": flattened,
        "columns.json": flattened,
        "datasets.parquet": flattened,
        "datasets.jsonl": entered(submitted, dropped=dropped | coded),
    }
    write_entered(HERE, files)
    print(f"argilla {argilla.__version__}")  # noqa: T201


if __name__ == "__main__":
    main()
