"""Backends of the catalogue's matrix units: their words, results and cycles."""
