"""The element-wise work between two products: programs on rows of elements."""
