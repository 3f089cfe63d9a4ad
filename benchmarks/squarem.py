"""How many sweeps squared extrapolation saves Dawid-Skene, and whether it ends elsewhere.

    python benchmarks/squarem.py                # the data sets in QUORATE_DATA or ../shared/data
    python benchmarks/squarem.py --tol 1e-9

Sweeps whose step was taken back count too. Labels differ "clearly" where plain EM prefers its own
by more than 0.02.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import quorate

DATA = Path(os.environ.get("QUORATE_DATA", "../shared/data"))
CLEARLY = 0.02


class Counted(quorate.DawidSkene):
    """Counts sweeps, also those whose step is taken back."""

    swept = 0

    def progress(self, stats: Any, params: Any) -> Any:
        Counted.swept += 1
        return super().progress(stats, params)


def swept(votes: quorate.Votes, **how: Any) -> tuple[quorate.Result, int]:
    """The result, and the number of sweeps it took."""
    before = Counted.swept
    result = quorate.aggregate(votes, Counted(**how))
    return result, Counted.swept - before


def clearly_different(plain: quorate.Result, fast: quorate.Result) -> int:
    """Tasks with another label, which plain EM clearly prefers its own to."""
    first, second = np.sort(plain.posterior, axis=1)[:, :-3:-1].T
    return int(((plain.answers != fast.answers) & (first - second > CLEARLY)).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tol", type=float, default=1e-6)
    tol = parser.parse_args().tol
    table = Table(title=f"Sweeps of Dawid-Skene, tol {tol:g}")
    for column in ("data", "tasks", "EM", "SQUAREM", "objective", "gained", "other (clearly)"):
        table.add_column(column, justify="left" if column == "data" else "right")
    total = np.zeros(2, dtype=int)
    for folder in sorted(path.parent for path in DATA.glob("*/labels.csv")):
        votes = quorate.read_votes(folder / "labels.csv")
        how: dict[str, Any] = {"tol": tol, "max_iter": 20_000}
        plain, sweeps = swept(votes, **how)
        fast, fewer = swept(votes, acceleration="squarem", **how)
        total += [sweeps, fewer]
        table.add_row(
            folder.name,
            f"{len(plain.answers):,}",
            str(sweeps),
            str(fewer),
            f"{plain.objective[-1]:,.2f}",
            f"{fast.objective[-1] - plain.objective[-1]:+,.2f}",
            f"{(plain.answers != fast.answers).sum()} ({clearly_different(plain, fast)})",
        )
    console = Console()
    console.print(table)
    console.print(f"{total[1]:,} of {total[0]:,} sweeps: {total[1] / total[0]:.2f}.")


if __name__ == "__main__":
    main()
