"""Attacks on `quorate serve`."""

from __future__ import annotations

from chaos.serve import kills

ATTACKS = (kills.SQLITE, kills.POSTGRESQL)
