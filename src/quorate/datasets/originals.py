"""Convert the original files of data sets to tables: a small converter for each format.

Tasks become t1, t2, ... and workers w1, w2, ... in the order in which they first have a vote, so
that the names of people are not kept. Rows keep their order.
"""

from __future__ import annotations

import ast
import csv
import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import polars as pl

Tables = Mapping[str, pl.DataFrame]
Convert = Callable[[Sequence[bytes]], Tables]
FeatureRows = Iterable[tuple[int, str]]  # number of the task, from 0, and feature

LARGEST = 64 * 2**20  # bytes of a file, in an archive or not: many times what is expected
NO_ANSWER = "-1"
UNKNOWN = "?"
CONFIDENCE = "is_the_category_correct_for_this_tweet:confidence"


def rows_of_votes(
    raws: Sequence[bytes],
    *,
    columns: Sequence[str] = ("task", "worker", "label"),
    at_least: int = 1,
    gold_only: bool = False,
) -> Tables:
    """Convert a file of votes and one of task and truth, both without header, separated by blanks.

    Workers with fewer than `at_least` votes are left out, and with `gold_only` so are tasks
    without a known answer.
    """
    votes = pl.DataFrame(_fields(raws[0], 3), schema=list(columns), orient="row")
    gold = dict(_fields(raws[1], 2))
    votes = votes.filter(pl.len().over("worker") >= at_least)
    if gold_only:
        votes = votes.filter(pl.col("task").is_in(list(gold)))
    return _renamed(votes, gold)


def archive_of_answers(raws: Sequence[bytes], *, folder: str) -> Tables:
    """Convert an archive with answer.csv (question, worker, answer) and truth.csv."""
    answers = _records(_member(raws[0], f"{folder}/answer.csv"))
    truths = _records(_member(raws[0], f"{folder}/truth.csv"))
    votes = [(row["question"], row["worker"], row["answer"]) for row in answers]
    return _renamed(_votes(votes), {row["question"]: row["truth"] for row in truths})


def matrix(
    raws: Sequence[bytes], *, features: Callable[[bytes], FeatureRows] | None = None
) -> Tables:
    """Convert a matrix of tasks by workers with -1 for no answer, the truths, and features."""
    rows = [re.split(r"[,\s]+", line) for line in _lines(raws[0])]
    votes = [
        (str(task), str(worker), label)
        for task, row in enumerate(rows)
        for worker, label in enumerate(row)
        if label != NO_ANSWER
    ]
    gold = {str(task): truth for task, truth in enumerate(_lines(raws[1]))}
    tables = dict(_renamed(_votes(votes), gold))
    if features is not None:
        tables["features"] = _features(features(raws[2]))
    return tables


def words(raw: bytes) -> FeatureRows:
    """Yield the words of each line: two letters or more, in at least five lines and at most
    half."""
    lines = io.StringIO(_text(raw), newline=None)  # an empty one is a task, too
    texts = [sorted(set(re.findall(r"[a-z']{2,}", line))) for line in lines]
    number = Counter(word for text in texts for word in text)
    kept = {word for word, lines in number.items() if 5 <= lines <= len(texts) / 2}
    for task, text in enumerate(texts):
        for word in text:
            if word in kept:
                yield task, word


def above_median(raw: bytes) -> FeatureRows:
    """Yield the columns of a NumPy array in which a row is above the median."""
    array = np.load(io.BytesIO(raw), allow_pickle=False)
    for task, column in np.argwhere(array > np.median(array, axis=0)):
        yield int(task), f"v{column}"


def annotations_with_gold(raws: Sequence[bytes]) -> Tables:
    """Convert annotations of Snow et al. (2008), each with its task's gold answer."""
    rows = list(_records(raws[0], delimiter="\t"))
    votes = [(row["orig_id"], row["!amt_worker_ids"], row["response"]) for row in rows]
    return _renamed(_votes(votes), {row["orig_id"]: row["gold"] for row in rows})


def confirmed_tweets(raws: Sequence[bytes]) -> Tables:
    """Convert tweets judged one by one, and their majority answers with the confidence of a second
    crowd; the answers with full confidence are the gold answers."""
    votes = [(row["tweet_id"], row["worker_id"], row["emotion"]) for row in _records(raws[0])]
    confirmed = (row for row in _records(raws[1]) if float(row[CONFIDENCE] or 0) == 1)
    return _renamed(_votes(votes), {row["tweet_id"]: row["sentiment"] for row in confirmed})


def dictionary_in_python(raws: Sequence[bytes]) -> Tables:
    """Convert a dictionary {task: {worker: [labels]}} in a program, which is neither run nor parsed
    as a whole, being in an older Python."""
    program = _text(raws[0])
    literal = program[program.index("responses = {") + len("responses = ") :]
    answers = ast.literal_eval(literal[: literal.index("return")].strip())
    votes = [
        (str(task), str(worker), str(label))
        for task, said in answers.items()
        for worker, labels in said.items()
        for label in labels
    ]
    return _renamed(_votes(votes), {})


def archive_of_attributes(
    raws: Sequence[bytes], *, member: str, attributes: Sequence[str]
) -> Tables:
    """Convert an archive with rows of a class and nominal attributes.

    The classes are numbered as they sort; a feature is an attribute's value, and of two values
    the first alone, since the other says the same; an unknown value is none.
    """
    rows = [line.split(",") for line in _lines(_member(raws[0], member))]
    classes = sorted({row[0] for row in rows})
    gold = [(f"t{task}", str(classes.index(row[0]))) for task, row in enumerate(rows, start=1)]
    values = [sorted({*column} - {UNKNOWN}) for column in zip(*rows, strict=True)][1:]
    kept = [set(found[:1] if len(found) == 2 else found) for found in values]
    features = (
        (task, f"{attribute}={value}")
        for task, row in enumerate(rows)
        for attribute, value, known in zip(attributes, row[1:], kept, strict=True)
        if value in known
    )
    return {"gold": _gold(gold), "features": _features(features)}


def _renamed(votes: pl.DataFrame, gold: Mapping[str, str]) -> Tables:
    """Tables of votes and gold answers with new names, without answers to tasks that have no
    votes."""
    tasks, workers = (_in_order(votes[column], column[0]) for column in ("task", "worker"))
    labels = votes.select(
        pl.col("task").replace_strict(tasks, return_dtype=pl.String),
        pl.col("worker").replace_strict(workers, return_dtype=pl.String),
        "label",
    )
    known = [(tasks[task], label) for task, label in gold.items() if task in tasks]
    return {"labels": labels, "gold": _gold(known)} if known else {"labels": labels}


def _in_order(names: pl.Series, letter: str) -> dict[str, str]:
    return {name: f"{letter}{i}" for i, name in enumerate(names.unique(maintain_order=True), 1)}


def _votes(rows: list[tuple[str, str, str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row")


def _gold(rows: list[tuple[str, str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["task", "label"], orient="row")


def _features(rows: FeatureRows) -> pl.DataFrame:
    named = [(f"t{task + 1}", feature) for task, feature in rows]
    return pl.DataFrame(named, schema=["task", "feature"], orient="row")


def _text(raw: bytes) -> str:
    """Text of a file. Names may be in any encoding and are replaced anyway: they only stay
    distinct."""
    return raw.decode("utf-8-sig", errors="surrogateescape")


def _lines(raw: bytes) -> list[str]:
    """Lines that are not empty, whatever their line ends."""
    return [line for each in io.StringIO(_text(raw), newline=None) if (line := each.strip())]


def _fields(raw: bytes, width: int) -> list[list[str]]:
    rows = [line.split() for line in _lines(raw)]
    if any(len(row) != width for row in rows):
        raise ValueError(f"a line without {width} fields")
    return rows


def _records(raw: bytes, delimiter: str = ",") -> Iterator[dict[str, str]]:
    return csv.DictReader(io.StringIO(_text(raw), newline=None), delimiter=delimiter)


def _member(archive: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened, opened.open(name) as member:
        content = member.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError(f"{name} is larger than {LARGEST // 2**20} MB")
    return content
