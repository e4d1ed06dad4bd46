"""Register maps, and what the maps of all accelerators that run jobs have in common."""
