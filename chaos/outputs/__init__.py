"""Attacks on what is written."""

from __future__ import annotations

from chaos.outputs import text, writing

ATTACKS = (writing.KILLS, writing.DEVICES, writing.INPUTS, text.ATTACK)
