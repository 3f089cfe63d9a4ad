"""Quorate with other tools as they are, on real servers; not in the wheel."""
