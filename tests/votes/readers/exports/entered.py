"""What was entered into a tool, kept beside what the tool then wrote."""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Entered:
    """Votes, known answers and what is no vote, as they are entered into a tool."""

    votes: list[dict] = field(default_factory=list)
    gold: list[dict] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)

    def vote(self, task, worker, label, question=""):
        vote = {"question": question, "task": task, "worker": worker, "label": label}
        self.votes.append(vote)

    def known(self, task, label, question=""):
        self.gold.append({"question": question, "task": task, "label": label})

    def drop(self, reason):
        self.dropped[reason] += 1


def write(place: Path, by_file: dict[str, Entered]) -> None:
    """Write what was entered by way of each file, a vote on each line."""
    text = json.dumps({name: vars(entered) for name, entered in by_file.items()}, indent=1)
    (place / "entered.json").write_text(re.sub(r"\n {4,}(?! *\{)|\n {3}(?=\})", " ", text) + "\n")
