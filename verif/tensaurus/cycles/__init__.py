"""The cycle model against the hardware."""
