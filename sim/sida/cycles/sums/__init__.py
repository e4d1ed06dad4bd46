"""Cycle model of SIDA: sums of columns."""
