"""MatRaptor: sparse times sparse matrix products, row by row, in C2SR."""
