"""What *Multiple Experts with Binary Features* should show: parameters recovered, and fewer errors
with features than without, by how many experts there are and how good they are."""

from __future__ import annotations

from reproductions.experiment import Experiment, joined
from reproductions.experts import crowds, recovery, simulated, weights

EXPERIMENT = Experiment(
    name="experts",
    title="Multiple experts with binary features",
    paper="Jin and Zhang, Multiple Experts with Binary Features (2010)",
    summary="Naive Bayes on features joined with experts' confusion matrices: whether its"
    " parameters are recovered, and what features are worth to few or many, weak or skilled"
    " experts.",
    data_sets=(*simulated.DATA_SETS, *crowds.DATA_SETS),
    **joined((recovery, simulated, weights, crowds)),
)
