"""The engine's cycle model against RTL, and its own promises."""
