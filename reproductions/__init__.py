"""The papers' tables and figures, reproduced from the real votes (or the papers' simulations)."""

from __future__ import annotations

from importlib import import_module

from quorate.errors import UsageError
from reproductions.experiment import Experiment

# Each is a package here with an `EXPERIMENT`.
EXPERIMENTS = {
    "spectral": "reproductions.spectral",
    "fast-ds": "reproductions.fast_ds",
    "experts": "reproductions.experts",
    "rank-one": "reproductions.rank_one",
    "adaptive": "reproductions.adaptive",
    "field": "reproductions.field",
}


def experiment_named(name: str) -> Experiment:
    """The experiment of that name.

    Examples:
        >>> experiment_named("spectral").paper
        'Zhang, Chen, Zhou and Jordan, Spectral Methods Meet EM (2014)'
    """
    if name not in EXPERIMENTS:
        raise UsageError(f"There is no experiment {name!r}: there are {', '.join(EXPERIMENTS)}.")
    experiment: Experiment = import_module(EXPERIMENTS[name]).EXPERIMENT
    return experiment
