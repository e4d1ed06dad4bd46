"""Benches of the cycle model of SIDA, part by part and whole."""
