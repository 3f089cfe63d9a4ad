"""Attacks on what is written."""

from __future__ import annotations

from chaos.outputs import writing

ATTACKS = (writing.KILLS, writing.DEVICES, writing.INPUTS)
