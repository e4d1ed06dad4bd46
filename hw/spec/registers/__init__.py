"""Register maps, and the common part of the maps of all accelerators that run jobs."""
