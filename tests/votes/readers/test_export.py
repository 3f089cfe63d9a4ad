"""What readers find, as tables: every vote once, every other thing counted, whatever it holds."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.errors import DataError
from quorate.votes.readers.export import Export, field_of, read_export
from quorate.votes.readers.opening import Opened, opened_bytes
from quorate.votes.readers.reader import Dropped, Found, Known, Reader, Vote

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=3)
    | st.sampled_from(["\ud800", "a", "b", "1"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)
QUESTIONS = st.sampled_from(["", "mood", "\ud800"])
FOUND = st.lists(
    st.builds(
        Vote,
        task=ANYTHING,
        worker=ANYTHING,
        label=ANYTHING,
        question=QUESTIONS,
        seconds=ANYTHING,
        time=ANYTHING,
        item=st.dictionaries(st.sampled_from(["text", "url"]), ANYTHING),
    )
    | st.builds(Known, task=ANYTHING, label=ANYTHING, question=QUESTIONS)
    | st.builds(Dropped, reason=st.sampled_from(["cancelled", "ignored"])),
    max_size=12,
)


class Given(Reader):
    """A reader that finds what it is given."""

    name = "given"
    title = "Given"

    def __init__(self, found: Sequence[Found]) -> None:
        object.__setattr__(self, "found", found)

    def read(self, export: Opened) -> Iterator[Found]:
        yield from self.found  # type: ignore[attr-defined]


def read(found: Sequence[Found], keep: Sequence[str] = ()) -> Export:
    return read_export(Given(found), [opened_bytes(b"", "export")], keep)


def read_or_refusal(found: Sequence[Found], keep: Sequence[str] = ()) -> Export | str:
    try:
        return read(found, keep)
    except DataError as error:
        return str(error)


@given(found=FOUND)
def test_every_vote_is_a_row_for_each_label_and_everything_else_is_counted(
    found: list[Found],
) -> None:
    export = read_or_refusal(found)
    if isinstance(export, str):
        assert "without a vote" in export
        return
    rows = sum(len(question.votes) for question in export.questions.values())
    lost = sum(n for why, n in export.dropped.items() if why.startswith("without a "))
    votes = [each for each in found if isinstance(each, Vote)]
    labels = [vote.label if isinstance(vote.label, list) else [0] for vote in votes]
    assert rows <= sum(max(len(each), 1) for each in labels)
    assert rows >= len(votes) - lost
    assert export.dropped.get("cancelled", 0) == found.count(Dropped("cancelled"))
    for question in export.questions.values():
        assert question.votes.columns == ["task", "worker", "label", "seconds", "time"]
        assert question.votes.select("task", "worker").null_count().row(0) == (0, 0)
        assert question.several or not question.votes["label"].null_count()
    counts = [len(question.votes) for question in export.questions.values()]
    assert counts == sorted(counts, reverse=True)


@given(found=FOUND)
def test_fields_are_kept_of_the_first_vote_of_each_task(found: list[Found]) -> None:
    export = read_or_refusal(found, ["text"])
    if isinstance(export, str):
        assert "without a vote" in export or "no field 'text'" in export
        return
    assert export.items.columns == ["task", "text"]
    assert export.items["task"].is_unique().all()


@given(labels=st.lists(st.sampled_from("abc"), min_size=1), tasks=st.integers(1, 5))
def test_plain_votes_come_back_as_they_are(labels: list[str], tasks: int) -> None:
    found = [Vote(i % tasks, f"w{i}", label, seconds=i) for i, label in enumerate(labels)]
    (question,) = read(found).questions.values()
    rows = [(i % tasks, f"w{i}", label, float(i), None) for i, label in enumerate(labels)]
    assert question.votes.rows() == rows
    assert not question.several


def test_known_answers_are_apart_from_votes_and_a_question_with_these_alone_is_none() -> None:
    found = [Vote(1, "ann", "x"), Known(1, ["x", "y"]), Known(2, "y", "other")]
    export = read(found)
    assert list(export.questions) == [""]
    assert export.questions[""].known.rows() == [(1, "x"), (1, "y")]


def test_text_that_no_file_can_hold_is_escaped_and_stays_apart() -> None:
    found = [Vote(1, "ann", "\ud800"), Vote(1, "bob", "\ud801")]
    assert read(found).questions[""].votes["label"].to_list() == [r"\ud800", r"\ud801"]


def test_values_of_several_types_become_text() -> None:
    found = [Vote(1, "ann", True), Vote("b", 2**70, 1), Vote("b", 7, "x")]
    votes = read(found).questions[""].votes
    assert votes["task"].to_list() == ["1", "b", "b"]
    assert votes["worker"].to_list() == ["ann", str(2**70), "7"]
    assert Counter(votes["label"]) == {"True": 1, "1": 1, "x": 1}


def test_a_stumble_says_where_and_what_to_do() -> None:
    class Stumbling(Given):
        def read(self, export: Opened) -> Iterator[Found]:
            yield Vote(1, "ann", "x")
            raise KeyError("result")

    with pytest.raises(DataError, match=r"after 1 answers, is not as Given writes it .no 'result'"):
        read_export(Stumbling([]), [opened_bytes(b"", "export")])


@given(path=st.lists(st.sampled_from("abc"), min_size=1, max_size=4), value=ANYTHING)
def test_dots_lead_into_nested_fields(path: list[str], value: Any) -> None:
    item: Any = value
    for name in reversed(path):
        item = {name: item}
    assert field_of(item, ".".join(path))[0] is value
    assert field_of({".".join(path): 1, **item}, ".".join(path)) == (
        (1,) if len(path) > 1 else (value,)
    )
    assert field_of(item, ".".join([*path, "missing", "x"])) == ()


def test_what_a_reader_cannot_read_by_itself_is_a_sentence_too() -> None:
    class Raw(Given):
        def read(self, export: Opened) -> Iterator[Found]:
            with export.stream() as file, zipfile.ZipFile(file):
                yield Vote(1, "ann", "x")

    with pytest.raises(DataError, match=r"export cannot be read .*zip"):
        read_export(Raw([]), [opened_bytes(b"PK\x03\x04", "export")])
