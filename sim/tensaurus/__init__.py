"""Tensaurus: results, tiles, driver, model device."""
