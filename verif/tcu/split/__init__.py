"""Wide words on units of narrow ones."""
