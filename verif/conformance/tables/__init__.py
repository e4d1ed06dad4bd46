"""Hand-written limits, a table per system."""
