"""What Python programs use: the public names, and the examples of their page."""
