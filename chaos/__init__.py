"""Attacks on what keeps and reads votes: kills, interrupts, flipped bits, full disks, two at once,
files that are not quite what they should be."""

from __future__ import annotations

from chaos import cluster, online, outputs, readers, serve, stores

ATTACKS = (
    *online.ATTACKS,
    *stores.ATTACKS,
    *outputs.ATTACKS,
    *readers.ATTACKS,
    *cluster.ATTACKS,
    *serve.ATTACKS,
)
