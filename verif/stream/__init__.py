"""Benches and proofs of the stream components."""
