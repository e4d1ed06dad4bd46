"""Gaussian elimination on the TCU model."""
