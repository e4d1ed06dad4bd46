"""A system from nothing, as an example: an accelerator that adds a constant to an array in memory.

Each module is what a module of a system is; the table in ``CONTRIBUTING.md`` says where it would
lie. Nothing outside of this folder knows of it: ``test_registration.py`` registers it.
"""
