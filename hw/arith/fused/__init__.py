"""The fused sum of products: align, add, then round once."""
