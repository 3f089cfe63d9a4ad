"""The classes and functions of Crowd-Kit by their names, computed by Quorate.

    from quorate.crowdkit import DawidSkene  # was: from crowdkit.aggregation import DawidSkene

Arguments, attributes and pandas objects are those of Crowd-Kit 1.4; where a result differs on
purpose, docs/start/crowd-kit.md says why.

>>> import pandas as pd
>>> votes = [("t1", "ann", "cat"), ("t1", "bob", "cat"), ("t1", "eve", "dog"), ("t2", "eve", "dog")]
>>> MajorityVote().fit_predict(pd.DataFrame(votes, columns=["task", "worker", "label"])).to_dict()
{'t1': 'cat', 't2': 'dog'}
"""

from quorate.errors import UsageError

try:
    import pandas as pandas
except ImportError:
    raise UsageError("quorate.crowdkit needs pandas: pip install 'quorate[pandas]'.") from None

from quorate.crowdkit.confusion import DawidSkene, OneCoinDawidSkene
from quorate.crowdkit.fitted import GLAD, KOS, MACE
from quorate.crowdkit.measures import (
    accuracy_on_aggregates,
    alpha_krippendorff,
    consistency,
    uncertainty,
)
from quorate.crowdkit.multilabel import BinaryRelevance
from quorate.crowdkit.pairwise import BradleyTerry, NoisyBradleyTerry
from quorate.crowdkit.voting import MMSR, GoldMajorityVote, MajorityVote, Wawa, ZeroBasedSkill

__all__ = [
    "GLAD",
    "KOS",
    "MACE",
    "MMSR",
    "BinaryRelevance",
    "BradleyTerry",
    "DawidSkene",
    "GoldMajorityVote",
    "MajorityVote",
    "NoisyBradleyTerry",
    "OneCoinDawidSkene",
    "Wawa",
    "ZeroBasedSkill",
    "accuracy_on_aggregates",
    "alpha_krippendorff",
    "consistency",
    "uncertainty",
]
