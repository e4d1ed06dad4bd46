"""Applications of GTA: products of matrices in eight formats, and computations built on them."""
