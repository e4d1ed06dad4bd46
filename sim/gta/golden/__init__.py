"""Golden models of GTA, bit for bit: products of matrices and vector operations in every format."""
