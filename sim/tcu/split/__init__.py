"""Wide words on a unit of narrow ones, limb by limb: what low precision costs in the model."""
