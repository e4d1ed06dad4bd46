"""Cycle model of SIDA: the element-wise core, and the rows that it takes."""
