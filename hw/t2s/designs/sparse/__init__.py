"""Kernels of tensors of which entries alone are stored (section 6.2.1). The sizes are ours."""
