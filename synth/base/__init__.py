"""Code that all flows share: running yosys, its errors, results kept on disk."""
