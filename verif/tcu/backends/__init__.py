"""Tests of the backends of hardware: their words, bits, cycles, and the line fitted to the
cycles."""
