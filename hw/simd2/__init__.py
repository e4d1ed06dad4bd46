"""SIMD2: a matrix unit whose two operators are selected from a table of semirings."""
