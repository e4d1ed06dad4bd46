"""Commands and pages of the TCU model."""
