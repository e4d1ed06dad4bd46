"""A command each."""
