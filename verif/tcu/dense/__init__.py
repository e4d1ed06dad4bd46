"""Products of dense matrices on the TCU model."""
