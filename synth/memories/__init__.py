"""Large memories: what they take in area and time, and how they stand in the timing graph."""
