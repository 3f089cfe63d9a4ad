"""Attacks on readers of files."""

from __future__ import annotations

from chaos.readers import exports

ATTACKS = (exports.ATTACK,)
