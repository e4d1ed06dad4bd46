"""The whole array, from memory to memory."""
