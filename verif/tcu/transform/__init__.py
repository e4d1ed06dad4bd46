"""Discrete Fourier transforms on the TCU model."""
