"""`python -m reproductions`."""

from reproductions.command import main

main(prog_name="python -m reproductions")
