"""Benches of SIMD2 and its ALUs."""
