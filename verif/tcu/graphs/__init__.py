"""Algorithms on graphs on the TCU model."""
