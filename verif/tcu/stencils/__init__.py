"""Linear stencils on the TCU model."""
