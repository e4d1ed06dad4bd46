"""Tests of what brings the matrix."""
