"""The commands of tensors: what they take, and what they refuse."""
