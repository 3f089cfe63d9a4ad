"""Write assignments as Toloka's pools gave them, after its documentation.

python -m tests.votes.readers.exports.toloka.make
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.votes.readers.exports.crowd import (
    PEOPLE,
    SENTIMENT,
    TEXTS,
    entered,
    known,
    vote,
    write_entered,
)

HERE = Path(__file__).parent
STATUS = {
    ("ann", 6): "SUBMITTED",
    ("bob", 2): "REJECTED",
    ("cyd", 5): "SKIPPED",
    ("cyd", 7): "EXPIRED",
}
GOLDEN = (0, 3)  # places of the control tasks
TIME = "2021-05-01T10:{:02}:00.123"
SUITE = 4  # tasks on a page


def row(name: str, place: int, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """A task of an assignment, of one output and another that is yes or no."""
    status = STATUS.get((name, place), "APPROVED")
    label = "" if status in ("SKIPPED", "EXPIRED") else SENTIMENT[name][place]
    truth = SENTIMENT["ann"][place] if place in GOLDEN else ""
    return {
        **{f"INPUT:{key}": value for key, value in inputs.items()},
        "OUTPUT:result": label,
        "OUTPUT:polite": label and str(label != "Negative").lower(),
        "GOLDEN:result": truth,
        "GOLDEN:polite": "",
        "HINT:text": "Read it twice." if truth else "",
        "ASSIGNMENT:link": f"https://toloka.example.com/task/1/{place // SUITE}{name}",
        "ASSIGNMENT:assignment_id": f"0001-{place // SUITE}{name}",
        "ASSIGNMENT:task_id": f"task-{place}",
        "ASSIGNMENT:task_suite_id": f"suite-{place // SUITE}",
        "ASSIGNMENT:worker_id": f"worker-{name}",
        "ASSIGNMENT:status": status,
        "ASSIGNMENT:started": TIME.format(place),
        "ASSIGNMENT:submitted": TIME.format(place + 1),
        "ASSIGNMENT:reward": "0.02",
    }


def write(file: str, rows: Sequence[Mapping[str, Any]], blank: bool) -> None:
    """Tab-separated rows, with a blank line between pages if asked for."""
    lines = ["\t".join(rows[0])]
    for number, cells in enumerate(rows):
        if blank and number and number % SUITE == 0:
            lines.append("")
        lines.append("\t".join(cells.values()))
    (HERE / file).write_text("\n".join(lines) + "\n")


def main() -> None:
    """Write the files, and what was entered."""
    places = [(name, place) for name in PEOPLE for place in range(len(TEXTS))]
    image = [row(name, p, {"image": f"https://example.com/{p}.jpg"}) for name, p in places]
    write("image.tsv", image, blank=True)
    several = [row(n, p, {"text": TEXTS[p], "language": "en"}) for n, p in places]
    write("inputs.tsv", several, blank=False)
    kept = [at for at in places if STATUS.get(at, "APPROVED") in ("APPROVED", "SUBMITTED")]
    dropped = {"rejected": 1, "skipped": 1, "expired": 1}
    files = {}
    for file, task in (("image.tsv", "https://example.com/{}.jpg"), ("inputs.tsv", "task-{}")):
        votes = [
            said
            for name, p in kept
            for said in (
                vote("result", task.format(p), f"worker-{name}", SENTIMENT[name][p]),
                vote(
                    "polite",
                    task.format(p),
                    f"worker-{name}",
                    str(SENTIMENT[name][p] != "Negative").lower(),
                ),
            )
        ]
        gold = [known("result", task.format(p), SENTIMENT["ann"][p]) for p in GOLDEN]
        files[file] = entered(votes, gold, dropped)
    write_entered(HERE, files)


if __name__ == "__main__":
    main()
