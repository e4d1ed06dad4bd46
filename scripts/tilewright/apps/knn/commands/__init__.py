"""Command of nearest neighbours: its arguments, and its checks."""
