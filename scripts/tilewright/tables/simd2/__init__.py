"""The table of the SIMD2 paper's applications on the tile engine."""
