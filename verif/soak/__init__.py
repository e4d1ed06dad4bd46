"""Runs accelerators for hours on memories that behave as badly as AXI4 lets them."""
