"""SIDA: two products with a sparse matrix in one pass over it."""
