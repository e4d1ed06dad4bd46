"""Programs of the element-wise core."""
