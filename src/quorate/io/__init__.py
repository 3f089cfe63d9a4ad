"""Sources and sinks: files, standard input, data frames, arrays; names become codes here."""

from quorate.io.encode import (
    Answers,
    ReadReport,
    Votes,
    complete_rows,
    find,
    in_classes,
    match,
    read_answers,
    read_gold,
    read_votes,
    retyped,
    split_labels,
)
from quorate.io.faults import listed, named, shown
from quorate.io.features import Features, read_features, with_features
from quorate.io.sinks import Outputs, check_place, output_format, scan_tables, write_table
from quorate.io.sources import Kind, read_table

__all__ = [
    "Answers",
    "Features",
    "Kind",
    "Outputs",
    "ReadReport",
    "Votes",
    "check_place",
    "complete_rows",
    "find",
    "in_classes",
    "listed",
    "match",
    "named",
    "output_format",
    "read_answers",
    "read_features",
    "read_gold",
    "read_table",
    "read_votes",
    "retyped",
    "scan_tables",
    "shown",
    "split_labels",
    "with_features",
    "write_table",
]
