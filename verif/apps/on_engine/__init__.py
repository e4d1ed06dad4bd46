"""Tests of the applications on the tile engine."""
