"""Tests of the Python interface: its public names, and the examples of its page."""
