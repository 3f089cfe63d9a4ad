"""Attacks on `quorate serve`."""

from __future__ import annotations

from chaos.serve import kills

ATTACKS = (kills.QUICK, kills.SQLITE, kills.POSTGRESQL)
