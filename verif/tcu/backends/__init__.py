"""Backends of hardware: what they hold, bits, cycles, and the line that is fitted to those."""
