"""Proofs: paths that the hardware does not have, and properties that no inputs break."""
