"""Attacks on what keeps votes: kills, interrupts, flipped bits, full disks, two at once."""

from __future__ import annotations

from chaos.online import (
    faults,
    flips,
    forks,
    full_disk,
    half_lives,
    interrupts,
    kills,
    threads,
    two_at_once,
)

from chaos.stores import flips as store_flips
from chaos.stores import full_disk as store_full_disk
from chaos.stores import pairs, resuming, reuse, shuffles

ATTACKS = (
    kills.ATTACK,
    interrupts.ATTACK,
    faults.ATTACK,
    faults.MEMORY,
    flips.CLOSED,
    flips.KILLED,
    full_disk.ATTACK,
    two_at_once.ATTACK,
    forks.ATTACK,
    threads.ATTACK,
    half_lives.ATTACK,
    resuming.ATTACK,
    pairs.ATTACK,
    store_flips.ATTACK,
    store_flips.HOSTILE,
    store_full_disk.ATTACK,
    store_full_disk.INTERRUPTED,
    shuffles.ATTACK,
    reuse.RESULTS,
    reuse.PRECIOUS,
)
