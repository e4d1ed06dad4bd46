"""Operands with 2:4 sparsity."""
