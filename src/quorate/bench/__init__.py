"""The papers' tables and figures, made anew from the real votes (or the papers' simulations)."""

from __future__ import annotations

from importlib import import_module

from quorate.bench.experiment import Experiment
from quorate.errors import UsageError

# Each is a module here with an `EXPERIMENT`.
EXPERIMENTS = {
    "spectral": "quorate.bench.spectral",
    "fast-ds": "quorate.bench.fast_ds",
    "experts": "quorate.bench.experts",
    "rank-one": "quorate.bench.rank_one",
    "adaptive": "quorate.bench.adaptive",
    "field": "quorate.bench.field",
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
