"""The second product's result in memory, and what of it is on chip."""
