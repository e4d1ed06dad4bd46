"""Sparse products on Tensaurus under its roofline."""
