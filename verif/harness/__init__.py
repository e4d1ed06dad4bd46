"""Benches of the native harness itself."""
