"""Cycle model of the compute array."""
