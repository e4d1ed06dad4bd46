"""SIMD2: a matrix unit whose two operators come from a table of semirings."""
