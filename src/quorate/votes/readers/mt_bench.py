"""MT-Bench: judgments of FastChat's judges, of single answers and of pairs, and of people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from quorate.votes.readers.opening import Look, Opened
from quorate.votes.readers.reader import Dropped, Found, Reader, Vote
from quorate.votes.readers.verdicts import nested

NO_SCORE = -1
ERROR = "error"
GAMES = ("g1_winner", "g2_winner")
OTHER = {"model_1": "model_2", "model_2": "model_1", "model_a": "model_b", "model_b": "model_a"}
Row = Mapping[str, Any]


class MTBench(Reader):
    """A task is a turn of a question with the model, or the two models, that answer it. Pairs are
    in the order of their names, so that who is first in a file is first in all. A worker is a judge
    with its prompt; a judge who sees both orders of a pair votes twice."""

    name = "mt-bench"
    title = "MT-Bench"
    signatures = (
        ("g1_winner", "g2_winner", "question_id", "model_1", "model_2", "judge"),
        ("turn", "question_id", "model", "judge", "score"),
        ("winner", "question_id", "model_a", "model_b", "judge"),
    )

    def lacks(self, look: Look) -> list[str]:
        missing = super().lacks(look)
        return missing if len(missing) == 1 else []  # for other tables have winners and turns, too

    def read(self, export: Opened) -> Iterator[Found]:
        for row in export.records():
            if "g1_winner" in row:
                pair = (row["model_1"], row["model_2"])
                yield from (_preference(row, pair, row[game]) for game in GAMES)
            elif "winner" in row:
                yield _preference(row, (row["model_a"], row["model_b"]), row["winner"])
            else:
                yield _rating(row)


def _rating(row: Row) -> Found:
    if row["score"] in (None, "") or float(row["score"]) == NO_SCORE:
        return Dropped("without a score")
    return Vote(_task(row, row["model"]), _judge(row), row["score"], item=row)


def _preference(row: Row, pair: tuple[str, str], winner: str | None) -> Found:
    if not winner or winner == ERROR:
        return Dropped("without a verdict")
    won = winner.split()[0]  # of "tie (inconsistent)"
    if pair != tuple(sorted(pair)):
        won = OTHER.get(won, won)
    return Vote(_task(row, ", ".join(sorted(pair))), _judge(row), won, item=row)


def _task(row: Row, models: str) -> str:
    turn = f", turn {row['turn']}" if row.get("turn") else ""
    return f"{row['question_id']}{turn} ({models})"


def _judge(row: Row) -> str:
    """The judge, with its prompt."""
    judge = nested(row["judge"]) or row["judge"]
    return f"{judge[0]} ({judge[1]})" if isinstance(judge, (list, tuple)) else str(judge)
