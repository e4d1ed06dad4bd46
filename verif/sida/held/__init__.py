"""Tests of the elements that wait on chip."""
