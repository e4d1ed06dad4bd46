"""Compiler passes for tensors that store only their entries (section 6.2.1)."""
