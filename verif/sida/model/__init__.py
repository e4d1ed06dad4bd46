"""Compares SIDA's results and buffered elements with arithmetic and graph algorithms of other
packages."""
