"""Error, calibration and agreement, with their intervals."""

from quorate.metrics.agreement import (
    agreement_interval,
    agreement_weights,
    alpha_interval,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
)
from quorate.metrics.intraclass import ICC, icc
from quorate.metrics.measures import (
    calibration_error,
    calibration_error_of,
    discoveries,
    error,
    mean_interval,
    reliability,
    reliability_of,
    resamples,
    right_shares,
    wilson_interval,
)

__all__ = [
    "ICC",
    "agreement_interval",
    "agreement_weights",
    "alpha_interval",
    "calibration_error",
    "calibration_error_of",
    "cohen_kappa",
    "discoveries",
    "error",
    "fleiss_kappa",
    "gwet_ac",
    "icc",
    "krippendorff_alpha",
    "mean_interval",
    "reliability",
    "reliability_of",
    "resamples",
    "right_shares",
    "wilson_interval",
]
