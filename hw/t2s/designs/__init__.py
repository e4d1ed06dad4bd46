"""Designs that ship: definitions and mappings, each a file as users write theirs."""
