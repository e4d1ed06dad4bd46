"""The registrations, a module a system: see :mod:`tilewright.registry`."""
