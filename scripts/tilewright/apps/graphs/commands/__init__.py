"""Commands of graphs: their arguments, and their checks."""
