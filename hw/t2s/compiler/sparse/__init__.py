"""What the compiler does for tensors of which entries alone are stored (section 6.2.1)."""
