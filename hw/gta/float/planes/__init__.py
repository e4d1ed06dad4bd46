"""Floats that lie by planes, as vectors do."""
