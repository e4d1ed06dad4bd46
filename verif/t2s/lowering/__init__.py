"""From programs to the parts of hardware."""
