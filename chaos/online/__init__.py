"""Attacks on `quorate.Online`."""
