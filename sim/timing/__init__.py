"""The common part of all cycle models: memory with timing, compiled code."""
