"""The vectors on chip, and what reads them by the rows of elements."""
