"""Benches of the AXI parts."""
