"""The models of the matrix units."""
