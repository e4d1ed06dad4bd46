"""Tests of the vectors on chip."""
