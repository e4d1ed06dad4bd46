"""Shared parts of all commands of ``tilewright run``: files, options, limits, pictures."""
