"""Votes in, tables out: files, frames and rows become labels in codes; results become files."""

from quorate.votes.blocks import Blocks, MemoryBlocks
from quorate.votes.conversion import Conversion, convert, questions
from quorate.votes.faults import listed, named, shown
from quorate.votes.features import Features, read_features, with_features
from quorate.votes.gold import (
    gold_for,
    in_class_order,
    read_answers,
    with_gold,
    worker_kinds,
)
from quorate.votes.naming import find, match, retyped
from quorate.votes.reading import (
    KnownAnswers,
    Reading,
    ReadReport,
    Votes,
    columns_of,
    complete_rows,
    read_votes,
    split_labels,
)
from quorate.votes.sinks import Outputs, check_place, output_format, require_apart
from quorate.votes.sources import MISSING, Kind, read_table

__all__ = [
    "MISSING",
    "Blocks",
    "Conversion",
    "Features",
    "Kind",
    "KnownAnswers",
    "MemoryBlocks",
    "Outputs",
    "ReadReport",
    "Reading",
    "Votes",
    "check_place",
    "columns_of",
    "complete_rows",
    "convert",
    "find",
    "gold_for",
    "in_class_order",
    "listed",
    "match",
    "named",
    "output_format",
    "questions",
    "read_answers",
    "read_features",
    "read_table",
    "read_votes",
    "require_apart",
    "retyped",
    "shown",
    "split_labels",
    "with_features",
    "with_gold",
    "worker_kinds",
]
