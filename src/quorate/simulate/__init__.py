"""Crowds with known truth."""

from quorate.simulate.crowd import Crowd
from quorate.simulate.simulation import simulate

__all__ = ["Crowd", "simulate"]
