"""Cycle model of SIDA: the vectors on chip, and who reads them."""
