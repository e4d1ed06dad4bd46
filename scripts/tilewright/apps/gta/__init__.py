"""Applications of GTA: products of matrices in eight formats, and what is made of them."""
