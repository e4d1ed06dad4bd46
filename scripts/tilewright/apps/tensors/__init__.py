"""Products of sparse and dense tensors with matrices, and factorisations made of them."""
