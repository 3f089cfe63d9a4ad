"""`python -m quorate`."""

from quorate.cli import main

main(prog_name="quorate")
