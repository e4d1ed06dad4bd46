"""Benches of MatRaptor."""
