"""Sparse formats and their images in memory."""
