"""Algorithms on the (m, l)-TCU model."""
