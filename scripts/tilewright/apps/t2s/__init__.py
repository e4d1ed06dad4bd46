"""Commands of the mapping language: what a mapping becomes, and whether it means the same."""
