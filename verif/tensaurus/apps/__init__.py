"""The commands of Tensaurus."""
