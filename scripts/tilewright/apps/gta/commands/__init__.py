"""The commands of GTA: what they take, and what they refuse."""
