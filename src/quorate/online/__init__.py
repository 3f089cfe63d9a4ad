"""Answers that are up to date with every vote."""

from quorate.online.online import Answer, Online, Quality

__all__ = ["Answer", "Online", "Quality"]
