"""Tests of the second product's result in memory, and of the part of it on chip."""
