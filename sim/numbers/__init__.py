"""The arithmetic of all models: floats, fused sums, semirings."""
