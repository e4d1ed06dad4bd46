"""The commands of dense matrices: what they take, and what they refuse."""
