"""Commands of tensors: their arguments, and their checks."""
