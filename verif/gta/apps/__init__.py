"""Applications of GTA, as far as they need no hardware."""
