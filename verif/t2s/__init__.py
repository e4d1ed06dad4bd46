"""Benches of the mapping language: its programs run beside what their definitions mean."""
