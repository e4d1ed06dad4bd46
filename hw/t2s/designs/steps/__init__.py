"""A matrix product from three lines to a whole mapping, a step a file."""
