"""The cycle model of striped memory against the hardware."""
