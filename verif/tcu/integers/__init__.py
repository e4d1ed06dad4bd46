"""Products of long integers on the TCU model."""
