"""Benches of the parts of a lane."""
