"""Figures 2 and 3 of *Adaptive Crowdsourcing via EM with Prior*, and the same on real votes."""

from __future__ import annotations

from reproductions.adaptive import replay, simulated
from reproductions.experiment import Experiment, joined

EXPERIMENT = Experiment(
    name="adaptive",
    title="Adaptive crowdsourcing",
    paper="Maginnis and Gupta, Adaptive Crowdsourcing via EM with Prior (2015)",
    summary="Votes asked for where they are needed most, against votes asked for at random.",
    data_sets=replay.DATA_SETS,
    **joined((simulated, replay)),
)
