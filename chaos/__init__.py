"""Attacks on what keeps votes: kills, interrupts, flipped bits, full disks, two at once."""

from __future__ import annotations

from chaos import cluster, online, outputs, stores

ATTACKS = (*online.ATTACKS, *stores.ATTACKS, *outputs.ATTACKS, *cluster.ATTACKS)
