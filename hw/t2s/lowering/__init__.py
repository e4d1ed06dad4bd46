"""Lowers a program to the parts of its hardware."""
