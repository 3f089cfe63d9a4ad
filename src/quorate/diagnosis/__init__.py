"""When to believe a crowd: what its votes alone say about whether it can be learned."""

from quorate.diagnosis.diagnosis import Diagnosis, diagnose
from quorate.diagnosis.facts import (
    AgreeingPair,
    Agreement,
    Finding,
    WorkerGraph,
    WorkerGroup,
    WorkerKind,
)
from quorate.diagnosis.theory import Knowledge

__all__ = [
    "AgreeingPair",
    "Agreement",
    "Diagnosis",
    "Finding",
    "Knowledge",
    "WorkerGraph",
    "WorkerGroup",
    "WorkerKind",
    "diagnose",
]
