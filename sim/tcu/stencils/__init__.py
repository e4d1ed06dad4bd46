"""Linear stencils, many sweeps at once, by convolutions through transforms (Theorem 8)."""
