"""Programs of the mapping language: loop nests that are joined by channels."""
