"""Commands of dense matrices: their arguments, and their checks."""
