"""Sources and sinks: files, standard input, data frames, arrays; names become codes here."""

from quorate.io.encode import Answers, ReadReport, Votes, find, match, read_answers, read_votes
from quorate.io.sinks import Outputs, output_format
from quorate.io.sources import Kind, read_table

__all__ = [
    "Answers",
    "Kind",
    "Outputs",
    "ReadReport",
    "Votes",
    "find",
    "match",
    "output_format",
    "read_answers",
    "read_table",
    "read_votes",
]
