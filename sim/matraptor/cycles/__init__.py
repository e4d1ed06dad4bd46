"""When a product comes: the cycle model, every counter of it."""
