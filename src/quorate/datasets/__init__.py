"""Public data sets to try methods on: a catalogue, local copies, and downloads."""

from quorate.datasets.catalogue import CATALOGUE, DataSet
from quorate.datasets.fetch import FetchOutcome, get
from quorate.datasets.reading import (
    State,
    checksum,
    data_directory,
    features,
    gold,
    listing,
    state,
    votes,
)

__all__ = [
    "CATALOGUE",
    "DataSet",
    "FetchOutcome",
    "State",
    "checksum",
    "data_directory",
    "features",
    "get",
    "gold",
    "listing",
    "state",
    "votes",
]
