"""Polynomials at many points."""
