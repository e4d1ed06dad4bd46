"""The machine that everything runs on: its cache, files that are written, programs that are run,
words that its user types."""
