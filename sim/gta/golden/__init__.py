"""What GTA computes, bit for bit: products of matrices and vector operations in every format."""
