"""Commands of iterations: their arguments, and their checks."""
