"""Cycle model of the tile engine."""
