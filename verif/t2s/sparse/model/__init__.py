"""Tests of sparse operands on the host: images, their sums, the driver and files."""
