"""From computations with sparse operands to designs."""
