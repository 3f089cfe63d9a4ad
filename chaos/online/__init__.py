"""Attacks on `quorate.Online`."""

from __future__ import annotations

from chaos.online import (
    answers,
    faults,
    flips,
    forks,
    full_disk,
    half_lives,
    interrupts,
    kills,
    names,
    tails,
    threads,
    two_at_once,
)

ATTACKS = (
    kills.ATTACK,
    interrupts.ATTACK,
    faults.ATTACK,
    faults.MEMORY,
    flips.CLOSED,
    flips.KILLED,
    tails.ATTACK,
    full_disk.ATTACK,
    two_at_once.ATTACK,
    forks.ATTACK,
    threads.ATTACK,
    half_lives.ATTACK,
    names.ATTACK,
    answers.ATTACK,
)
