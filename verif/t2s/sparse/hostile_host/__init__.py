"""Drawn mappings with sparse operands, and a host that does all that is legal."""
