"""Sums of columns."""
