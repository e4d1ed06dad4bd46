"""Benches of the mapping language: its programs are compared with the meaning of their
definitions."""
