"""Simulated crowds with known truth."""

from quorate.simulation.crowd import Crowd
from quorate.simulation.drawing import simulate

__all__ = ["Crowd", "simulate"]
