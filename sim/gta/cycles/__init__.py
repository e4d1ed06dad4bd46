"""Cycle model of whole jobs of GTA."""
