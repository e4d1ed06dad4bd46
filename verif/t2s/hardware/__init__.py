"""Benches of the hardware that a mapping becomes, part by part."""
