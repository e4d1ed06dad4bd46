"""How a product of any size becomes a list of commands: tiles, their places, their order."""
