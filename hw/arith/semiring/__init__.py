"""A semiring on any format: (x) of pairs, and the (+) that joins them."""
