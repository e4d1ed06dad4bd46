"""The cycle model of SIDA against the hardware."""
