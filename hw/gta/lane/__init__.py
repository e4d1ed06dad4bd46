"""A lane of GTA: what feeds its array, what takes its results, and its memories."""
