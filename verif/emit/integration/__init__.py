"""Checks the files for integrators with programs that are not ours."""
