"""`python -m quorate`."""

from quorate.cli import run

run()
