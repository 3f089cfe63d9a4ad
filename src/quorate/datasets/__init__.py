"""Public data sets to try methods on: what is known of them, whether they are here, and how to
get those that are not."""

from quorate.datasets.catalogue import CATALOGUE, DataSet
from quorate.datasets.fetch import Fetched, get
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
    "Fetched",
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
