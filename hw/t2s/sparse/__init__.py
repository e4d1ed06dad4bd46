"""Components of designs with sparse operands."""
