"""Graphs as dense matrices: what can be reached, and how far it is (Theorems 5 and 6)."""
