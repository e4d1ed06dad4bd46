"""From a sparse matrix in memory to sets of its elements."""
