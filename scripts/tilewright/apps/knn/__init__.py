"""Distances, nearest neighbours and classes."""
