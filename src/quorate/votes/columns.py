"""Which column of a table is the task, the worker and the label, by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from quorate.errors import DataError
from quorate.votes.faults import named, shown

# Other words for a column, the most telling first: words further on count only where a table has
# none of those before. One is taken only when exactly one column fits.
SYNONYMS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "task": (
        ("item", "question", "example", "instance", "document", "unit", "sample", "record"),
        ("doc", "image", "sentence", "text", "prompt", "query", "file", "filename", "url"),
    ),
    "worker": (
        ("annotator", "rater", "judge", "performer", "coder", "expert", "participant"),
        ("labeler", "labeller", "reviewer", "evaluator", "grader", "assessor", "turker"),
        ("user", "username", "email", "scorer", "labeled_by", "labelled_by", "annotated_by"),
    ),
    "label": (
        ("verdict", "judgment", "judgement"),
        ("vote", "class", "rating", "annotation", "grade", "decision", "choice"),
        ("answer", "response"),
        ("score",),
    ),
    "left": (
        ("model_a", "system_a", "item_a", "option_a", "response_a", "answer_a", "assistant_a"),
        ("model_1", "system_1", "item_1", "option_1", "a", "first"),
    ),
    "right": (
        ("model_b", "system_b", "item_b", "option_b", "response_b", "answer_b", "assistant_b"),
        ("model_2", "system_2", "item_2", "option_2", "b", "second"),
    ),
    "winner": (
        ("won", "preferred", "preference", "better", "chosen"),
        ("label", "verdict", "choice", "vote", "judgment", "judgement", "decision", "outcome"),
        ("result", "answer"),
    ),
}
SECONDS = ("seconds", "secs", "duration", "lead_time", "time_spent", "elapsed", "work_time")
TIMES = ("timestamp", "created_at", "submitted_at", "submit_time", "annotated_at", "time")
MOST_LISTED, LONGEST_LIST = 40, 600
ALIKE = 0.6  # the least ratio of letters that two words have in common, to be alike


def plain(name: str) -> str:
    """The name in small letters, with words joined by underscores and without "id" or "name".

    Examples:
        >>> [plain(name) for name in ("Item ID", "raterId", "judge-name", "LABEL", "id")]
        ['item', 'rater', 'judge', 'label', 'id']
    """
    words = re.sub(r"[\s.\-]+", "_", name.strip().lower())
    return words.removesuffix("_name").removesuffix("id").rstrip("_") or words


def fitting(role: str, names: Sequence[str], words: Sequence[Sequence[str]]) -> list[str]:
    """The columns that the first of these groups of words fits; of an item and its id, the id."""
    for group in ((role,), *words):
        found = [name for name in names if plain(name) in group]
        ids = [name for name in found if name.strip().lower().endswith("id")]
        if found:
            return ids if len(ids) == 1 else found
    return []


def column_of(
    role: str,
    columns: Mapping[str, str | None],
    names: Sequence[str],
    origin: str,
    strict: bool = True,
) -> str:
    """Name of the column for a role: the caller's, the role's own, or a synonym."""
    name = columns.get(role)
    if name is not None and name not in names and strict:
        raise no_column(name, names, origin)
    found = fitting(role, names, SYNONYMS.get(role, ()))
    for exact in (name, role):
        if exact in names:
            found = [n for n in names if n in (exact, f"{exact}_duplicated_0")]
            break
    if len(found) == 1:
        return found[0]
    fault = f"more than one column that could be the {role}" if found else f"no column {role!r}"
    advice = f"name one of them {role}"
    if role in columns:
        advice = f"say which it is with {role}_column (--{role}-column)"
    taken = [name for other in SYNONYMS if other != role for name in names if plain(name) == other]
    present = likeliest(names, (role, *_words(role)), found, last=taken)
    raise DataError(f"{origin} has {fault}: its columns are {present}; {advice}.")


def no_column(name: str, names: Sequence[str], origin: str) -> DataError:
    """The error of a column that is not there."""
    present = likeliest(names, (name,))
    return DataError(f"{origin} has no column {shown(name)}: its columns are {present}.")


def likeliest(
    names: Sequence[str],
    words: Sequence[str] = (),
    first: Sequence[str] = (),
    last: Sequence[str] = (),
) -> str:
    """All names (of very many the first), those that are spelt most like one of the words first.

    Examples:
        >>> likeliest(["text", "when", "annotater"], ["annotator"])
        'annotater, text, when'
    """

    def likeness(name: str) -> float:
        if name in first or name in last:
            return float(name in first)
        return max((_likeness(name, word) for word in words), default=0.0)

    ranked = sorted(names, key=likeness, reverse=True)
    said = ""
    for number, name in enumerate(ranked):
        longer = f"{said}, {named(name)}" if number else named(name)
        if number == MOST_LISTED or len(longer) > LONGEST_LIST:
            return f"{said} and {len(ranked) - number:,} more"
        said = longer
    return said


def _likeness(name: str, word: str) -> float:
    """How alike two words are, 0 unless they are very much so."""
    from difflib import SequenceMatcher  # slow to import

    matcher = SequenceMatcher(None, plain(name), plain(word))
    bounds = (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio)
    return matcher.ratio() if all(bound() >= ALIKE for bound in bounds) else 0.0


def _words(role: str) -> list[str]:
    return [word for words in SYNONYMS.get(role, ()) for word in words]


def columns_named(chosen: Mapping[str, str]) -> dict[str, str]:
    """Names of the columns that are not named like their role, by role."""
    return {role: name for role, name in chosen.items() if name != role}


def note_of(chosen: Mapping[str, str], columns: Mapping[str, str | None]) -> list[str]:
    """What is said of columns that were found by other names than their role's."""
    guessed = {r: n for r, n in columns_named(chosen).items() if columns.get(r) != n}
    said = ", ".join(f"{named(name)} as {role}" for role, name in guessed.items())
    return [f"Columns: {said}."] if said else []


def detail_columns(names: Sequence[str]) -> dict[str, str]:
    """The columns of the seconds that a vote took and of its time, where there are any."""
    found = {}
    for role, words in (("seconds", SECONDS), ("time", TIMES)):
        fit = [name for word in words for name in names if plain(name) == word]
        if fit:
            found[role] = fit[0]
    return found
