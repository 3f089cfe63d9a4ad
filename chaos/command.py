"""`python -m chaos`: which attacks, for how long, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Sequence

import click

from chaos import ATTACKS
from chaos.attack import Attack
from chaos.running import Failed, Limits, Tally, run

MOST_SHOWN = 3  # failures of an attack in full


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--list", "list_them", is_flag=True, help="Name the attacks.")
@click.option(
    "--seconds", type=click.FloatRange(min=0), help="How long to go on; each is tried once."
)
@click.option("--times", type=click.IntRange(min=1), help="Number of trials of each attack.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the first trial; those that follow count on from it.",
)
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="Number of trials at once.",
)
def main(
    names: tuple[str, ...],
    list_them: bool,
    seconds: float | None,
    times: int | None,
    seed: int,
    processes: int,
) -> None:
    """Attack what keeps votes, and count what holds.

    NAME is an attack that --list names, or a group of them: online, stores, outputs, readers,
    cluster, serve.
    Without names those that are known not to hold yet are left out.
    Without --seconds or --times every attack is tried once. A failure comes with the command that
    tries the same again; the exit code is then 1.
    """
    attacks = chosen(names)
    if list_them:
        for attack in attacks if names else ATTACKS:
            click.echo(f"{attack.name:26}{attack.about}")
        return
    if seconds is None and times is None:
        times = 1
    began = time.monotonic()
    tally = run(attacks, Limits(seconds, times, seed, processes), _Shown())
    click.echo(table(attacks, tally))
    click.echo(f"{time.monotonic() - began:.0f} s, seeds from {seed}")
    if tally.failed:
        click.get_current_context().exit(1)


def chosen(names: Sequence[str]) -> list[Attack]:
    """The attacks of those names or groups; all if none is named."""
    found = [
        attack
        for attack in ATTACKS
        if not names or {attack.name, attack.name.split("-")[0]} & set(names)
    ]
    if not found:
        raise click.UsageError("There is no such attack: see --list.")
    return found


class _Shown:
    """Failures as they come; of each attack only the first ones in full."""

    def __init__(self) -> None:
        self.n: dict[str, int] = {}

    def __call__(self, failed: Failed) -> None:
        n = self.n[failed.attack.name] = self.n.get(failed.attack.name, 0) + 1
        why = failed.why if n <= MOST_SHOWN else failed.why.strip().splitlines()[-1][:200]
        click.echo(f"FAILED {failed.attack.name}: {why}\n    {failed.command}")


def table(attacks: Sequence[Attack], tally: Tally) -> str:
    """How much of each attack was tried, held and failed."""
    lines = [f"{'attack':26}{'tried':>8}{'held':>8}{'failed':>8}"]
    for attack in attacks:
        tried, failed = tally.tried[attack.name], tally.n_failed(attack)
        lines.append(f"{attack.name:26}{tried:8,}{tried - failed:8,}{failed:8,}")
    return "\n".join(lines)
