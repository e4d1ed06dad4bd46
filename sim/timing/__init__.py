"""What all cycle models share: memory with timing, compiled code."""
