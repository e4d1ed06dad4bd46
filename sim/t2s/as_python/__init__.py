"""Programs as Python, which the interpreter runs."""
