"""Benches of M3XU, its parts and its sequencer."""
