"""What Python programs use: the names of the package itself."""
