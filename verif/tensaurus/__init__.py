"""Tensaurus: models and hardware."""
