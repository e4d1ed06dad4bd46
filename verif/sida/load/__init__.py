"""Tests of the loaders of the matrix."""
