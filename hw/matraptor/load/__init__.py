"""Loaders of a lane: from C2SR in memory to entries, row pairs and products."""
