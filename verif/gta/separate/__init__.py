"""Benches of the lane that GTA is compared with."""
