"""GTA: one array of 8-bit multipliers for every number format."""
