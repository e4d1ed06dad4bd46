"""Buffers elements on chip until their row is processed, and adds them to the second product."""
