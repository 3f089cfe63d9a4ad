"""Attacks on stores, by the command line."""

from __future__ import annotations

from chaos.stores import flips, full_disk, pairs, remote, resuming, reuse, shuffles

ATTACKS = (
    resuming.ATTACK,
    pairs.ATTACK,
    flips.ATTACK,
    flips.HOSTILE,
    full_disk.ATTACK,
    full_disk.INTERRUPTED,
    shuffles.ATTACK,
    reuse.RESULTS,
    reuse.PRECIOUS,
    remote.ATTACK,
)
