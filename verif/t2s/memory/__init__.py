"""Images in memory, and what brings their words to a design and takes them from it."""
