"""Benches of memory that is striped over channels."""
