"""The cycle model against RTL."""
