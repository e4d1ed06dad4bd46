"""Vector operations in GTA's lanes: planes of octets to the elements, and results as planes."""
