"""Sparse operands on the host: images, what elements make of them, the driver, files."""
