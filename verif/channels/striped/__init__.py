"""Benches of what reads lines of striped memory."""
