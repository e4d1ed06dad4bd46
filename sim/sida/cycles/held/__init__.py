"""Cycle model of SIDA: elements that wait for their row."""
