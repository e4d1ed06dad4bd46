"""Accelerators that several applications run on: their choice, and their products."""
