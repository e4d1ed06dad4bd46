"""Polynomials on the TCU model."""
