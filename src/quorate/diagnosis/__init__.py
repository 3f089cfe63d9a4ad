"""When to believe a crowd: what its votes alone say about whether it can be learned."""

from quorate.diagnosis.diagnose import (
    Agreement,
    CopyingPair,
    Diagnosis,
    WorkerGraph,
    WorkerGroup,
    WorkerKind,
    diagnose,
)
from quorate.diagnosis.findings import Finding
from quorate.diagnosis.theory import Knowledge

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
