"""Tests of sparse operands: the parts that send their entries, and those that accept them."""
