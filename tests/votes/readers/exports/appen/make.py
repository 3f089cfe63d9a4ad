"""Write full reports as Appen (before, CrowdFlower and Figure Eight) gives them.

python -m tests.votes.readers.exports.appen.make
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.votes.readers.exports.crowd import (
    ABOUT,
    PEOPLE,
    SENTIMENT,
    TEXTS,
    entered,
    known,
    vote,
    write_entered,
)

HERE = Path(__file__).parent
TAINTED = "dan"  # fails the test questions: all of their judgments are tainted
GOLDEN = (0, 3)
WORKERS = {"ann": 3123, "bob": 3456, "cyd": 3789, TAINTED: 3999}


def unit(place: int) -> int:
    return 567_000 + place


def judgment(name: str, place: int, number: int) -> dict[str, Any]:
    """What a report says of every judgment."""
    golden, tainted = place in GOLDEN, name == TAINTED
    missed = golden and not tainted and said(name, place) != SENTIMENT["ann"][place]
    return {
        "_unit_id": unit(place),
        "_created_at": f"2/24/2015 03:{10 + place}:00",
        "_golden": str(golden).lower(),
        "_id": 155_000 + number,
        "_missed": "true" if missed else "",
        "_started_at": f"2/24/2015 03:{9 + place}:30",
        "_tainted": str(tainted).lower(),
        "_channel": "elite",
        "_trust": "0.2" if tainted else "0.8333",
        "_worker_id": WORKERS[name],
        "_country": "USA",
        "_region": "",
        "_city": "",
        "_ip": "192.0.2.1",
    }


def said(name: str, place: int) -> str:
    return "Neutral" if name == TAINTED else SENTIMENT[name][place]


def about(name: str, place: int) -> Sequence[str]:
    return () if name == TAINTED else ABOUT[name][place]


def write(file: str, rows: Sequence[Mapping[str, Any]]) -> None:
    with (HERE / file).open("w", newline="") as output:
        writer = csv.DictWriter(output, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Write the files, and what was entered."""
    both = [(name, place) for place in range(len(TEXTS)) for name in WORKERS]
    rows = []
    for number, (name, place) in enumerate(both):
        row = judgment(name, place, number)
        row |= {"sentiment": said(name, place), "topics": "\n".join(about(name, place))}
        row |= {"sentiment_gold": SENTIMENT["ann"][place] if place in GOLDEN else ""}
        rows.append(row | {"sentiment_gold_reason": "", "topics_gold": "", "text": TEXTS[place]})
    write("full.csv", rows)
    without = [{k: v for k, v in row.items() if "_gold" not in k} for row in rows]
    write("no_gold.csv", [row | {"_golden": "false", "_missed": ""} for row in without])
    votes = [
        found
        for place in range(len(TEXTS))
        for name in PEOPLE
        for found in (
            vote("sentiment", unit(place), WORKERS[name], SENTIMENT[name][place]),
            vote("topics", unit(place), WORKERS[name], list(ABOUT[name][place])),
        )
    ]
    given = [v for v in votes if v["label"]]  # an empty cell does not say that none was chosen
    gold = [known("sentiment", unit(place), SENTIMENT["ann"][place]) for place in GOLDEN]
    dropped = {"tainted": len(TEXTS), "without a label": len(votes) - len(given)}
    files = {
        "full.csv": entered(given, gold, dropped),
        "no_gold.csv": entered(given, dropped=dropped),
    }
    write_entered(HERE, files)


if __name__ == "__main__":
    main()
