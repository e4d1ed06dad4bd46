"""Command of sparse products: its arguments, and its checks."""
