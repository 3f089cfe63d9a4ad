"""Agreement between raters, pair of values by pair of values.

K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section C: nominal data, any
number of observers, missing data. J. L. Fleiss, "Measuring nominal scale agreement among many
raters" (1971). Here ``units[task]`` lists the task's labels.
"""

from __future__ import annotations


def alpha(units: list[list[int]]) -> float:
    """One minus observed over expected disagreement, from the coincidence matrix."""
    coincidences: dict[tuple[int, int], float] = {}
    for values in units:
        for i, first in enumerate(values):
            for j, second in enumerate(values):
                if i != j:
                    pair = (first, second)
                    coincidences[pair] = coincidences.get(pair, 0) + 1 / (len(values) - 1)
    total: dict[int, float] = {}
    for (first, _), count in coincidences.items():
        total[first] = total.get(first, 0) + count
    n = sum(total.values())
    observed = sum(count for (c, k), count in coincidences.items() if c != k)
    expected = sum(total[c] * total[k] for c in total for k in total if c != k) / (n - 1)
    return 1 - observed / expected


def kappa(units: list[list[int]]) -> float:
    """Equations 1 to 7 of Fleiss; each unit with its own number of ratings."""
    units = [values for values in units if len(values) > 1]
    agreeing = []
    for values in units:
        pairs = [(i, j) for i in range(len(values)) for j in range(len(values)) if i != j]
        agreeing.append(sum(values[i] == values[j] for i, j in pairs) / len(pairs))
    everything = [value for values in units for value in values]
    shares = [everything.count(c) / len(everything) for c in set(everything)]
    observed, chance = sum(agreeing) / len(agreeing), sum(share**2 for share in shares)
    return (observed - chance) / (1 - chance)
