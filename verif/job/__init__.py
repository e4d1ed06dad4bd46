"""Tests of the parts that all accelerators with jobs share."""
