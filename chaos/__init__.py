"""Attacks on what keeps votes: kills, interrupts, flipped bits, full disks, two at once."""

from __future__ import annotations

from chaos.online import faults, flips, interrupts, kills

ATTACKS = (
    kills.ATTACK,
    interrupts.ATTACK,
    faults.ATTACK,
    faults.MEMORY,
    flips.CLOSED,
    flips.KILLED,
)
