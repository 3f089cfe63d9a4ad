"""The tables and figures of *Fast Dawid-Skene*, each kind of experiment in a module of its own."""

from __future__ import annotations

from reproductions.experiment import Experiment, joined
from reproductions.fast_ds import offline, online, several

PARTS = (offline, online, several)

EXPERIMENT = Experiment(
    name="fast-ds",
    title="Fast Dawid-Skene",
    paper="Sinha, Rao and Balasubramanian, Fast Dawid-Skene (2018)",
    summary="Hard and hybrid EM against Dawid-Skene: speed, likelihood, accuracy by annotators.",
    data_sets=offline.ALL_LABELS,
    **joined(PARTS),
)
