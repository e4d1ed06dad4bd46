"""The commands of graphs: what they take, and what they refuse."""
