"""The head of a row: what its elements do, operation by operation."""
