"""The command of nearest neighbours: what it takes, and what it refuses."""
