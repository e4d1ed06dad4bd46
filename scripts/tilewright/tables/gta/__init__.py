"""Tables of GTA."""
