"""A component of IEEE 1685-2014 (IP-XACT)."""
