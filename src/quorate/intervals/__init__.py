"""How sure workers' accuracies and confusion matrices are, from the votes alone."""

from quorate.intervals.accuracies import BYTES, MOST_VOTES, Spread, reckon
from quorate.intervals.matrices import TABLES_OF_MATRICES, reckon_matrices

__all__ = ["BYTES", "MOST_VOTES", "TABLES_OF_MATRICES", "Spread", "reckon", "reckon_matrices"]
