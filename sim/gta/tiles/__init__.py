"""Turns a product of any size into a list of commands: tiles, their places, their order."""
