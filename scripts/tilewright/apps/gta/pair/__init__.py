"""Two products at the same time, on lanes of their own."""
