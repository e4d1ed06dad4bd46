"""The command of sparse products: what it takes, and what it refuses."""
