"""The commands of iterations: what they take, and what they refuse."""
