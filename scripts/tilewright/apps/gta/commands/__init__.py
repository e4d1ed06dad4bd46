"""Commands of GTA: their arguments, and their checks."""
