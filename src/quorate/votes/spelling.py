"""How labels are spelt: the same one in several ways, and words that say that there is none."""

from __future__ import annotations

import polars as pl

from quorate.votes.faults import shown
from quorate.words import count

# Words that people write where there is no label, in small letters.
NO_LABEL = ("n/a", "na", "n.a.", "#n/a", "<na>", "null", "none", "nil", "nan", "-", "--", "")
MOST_LOOKED_AT = 10_000  # classes; more are none
MOST_SHOWN = 5


def plain_labels(labels: pl.Series) -> pl.Series:
    """Labels as they compare: in small letters, with single spaces, whole numbers without .0.

    Examples:
        >>> plain_labels(pl.Series(["Yes ", "not  sure", "1.0"])).to_list()
        ['yes', 'not sure', '1']
    """
    text = pl.first().cast(pl.String).str.strip_chars().str.to_lowercase()
    one_spaced = text.str.replace_all(r"\s+", " ")
    # One query: polars makes one of each method of a series, which costs more than these names.
    return labels.to_frame().select(one_spaced.str.replace(r"^(-?\d+)\.0+$", "$1")).to_series()


def may_be_spelt(classes: pl.Series) -> bool:
    """Whether classes are text, and few enough to be looked at."""
    return classes.dtype == pl.String and len(classes) <= MOST_LOOKED_AT


def spellings(classes: pl.Series) -> dict[str, list[int]]:
    """The codes of classes by what they are spelt like."""
    codes: dict[str, list[int]] = {}
    for code, word in enumerate(plain_labels(classes)):
        codes.setdefault(word, []).append(code)
    return codes


def odd(classes: pl.Series) -> bool:
    """Whether classes are such that something is to be said of their spelling."""
    return len(spellings(classes)) < len(classes) or bool(no_labels(classes))


def no_labels(classes: pl.Series) -> list[int]:
    """The codes of classes that say that there is no label."""
    plain = plain_labels(classes)
    return [code for code, word in enumerate(plain) if word in NO_LABEL]


def merged(classes: pl.Series, votes: list[int]) -> tuple[pl.Series, list[int]]:
    """The classes, each once in its most frequent spelling, and the code of each among them.

    Examples:
        >>> classes, code = merged(pl.Series(["No", "Yes", "yes", "yes "]), [9, 1, 7, 2])
        >>> classes.to_list(), code
        (['No', 'yes'], [0, 1, 1, 1])
    """
    chosen = [max(codes, key=lambda code: votes[code]) for codes in spellings(classes).values()]
    spelt = [name.strip() or name for name in classes.gather(chosen)]
    names = pl.Series(classes.name, spelt, dtype=pl.String).sort()
    return names, in_spelling_of(names, classes)


def in_spelling_of(names: pl.Series, others: pl.Series) -> list[int]:
    """The code of each of the others among names that are spelt like it; -1 if there is none."""
    code = {word: number for number, word in enumerate(plain_labels(names))}
    return [code.get(word, -1) for word in plain_labels(others)]


def respelt(labels: pl.Series, classes: pl.Series) -> pl.Series:
    """Labels in the spelling of the classes that they are spelt like."""
    names = labels.unique(maintain_order=True).drop_nulls()
    found = in_spelling_of(classes, names)
    pairs = [(n, classes[code]) for n, code in zip(names, found, strict=True) if code >= 0]
    if labels.dtype != pl.String or not pairs:
        return labels
    return labels.replace([old for old, _ in pairs], [str(new) for _, new in pairs])


def note_of_spellings(classes: pl.Series, votes: list[int], tidy: bool) -> list[str]:
    """What is said of labels that differ only in spaces or case."""
    several = [codes for codes in spellings(classes).values() if len(codes) > 1]
    if not several:
        return []
    said = "; ".join(
        " and ".join(f"{shown(classes[code])} ({votes[code]:,})" for code in codes)
        for codes in several[:MOST_SHOWN]
    )
    more = f"; and {len(several) - MOST_SHOWN:,} more" if len(several) > MOST_SHOWN else ""
    if tidy:
        return [f"Labels that differ only in spaces or case are taken for one: {said}{more}."]
    return [
        f"Labels that differ only in spaces or case are counted apart: {said}{more}; tidy (--tidy)"
        " takes them for one."
    ]


def note_of_no_labels(classes: pl.Series, votes: list[int], codes: list[int]) -> list[str]:
    """What is said of labels that are words for no label, which have these codes."""
    return [
        f"{shown(classes[code])} ({count(votes[code], 'vote')}) is counted as a label: missing"
        f" (--missing {classes[code]}) leaves it out."
        for code in codes
    ]
