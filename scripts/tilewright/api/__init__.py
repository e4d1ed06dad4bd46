"""Exports the names of the package for Python programs."""
