"""Tilewright: a generator of tensor accelerators."""

__version__ = "0.1.0"
