"""Algorithms on the (m, l)-TCU model on backends: what is asked for, run, and reported."""
