"""Passes that take out of functions what they need not know of their loops (section 3.4.2)."""
