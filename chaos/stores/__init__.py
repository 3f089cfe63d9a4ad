"""Attacks on stores, by the command line."""
