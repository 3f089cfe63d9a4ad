"""When to believe a crowd: what its votes alone say about whether it can be learned."""

from quorate.diagnose.diagnosis import (
    Agreement,
    CopyingPair,
    Diagnosis,
    WorkerGraph,
    WorkerGroup,
    WorkerKind,
    diagnose,
)
from quorate.diagnose.findings import Finding
from quorate.diagnose.theory import Knowledge

__all__ = [
    "Agreement",
    "CopyingPair",
    "Diagnosis",
    "Finding",
    "Knowledge",
    "WorkerGraph",
    "WorkerGroup",
    "WorkerKind",
    "diagnose",
]
