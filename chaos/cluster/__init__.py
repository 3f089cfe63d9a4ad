"""Attacks on runs on Ray."""

from __future__ import annotations

from chaos.cluster import address, kills

ATTACKS = (kills.DRIVER, kills.ACTOR, address.ATTACK)
