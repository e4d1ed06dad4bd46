"""Passes that take out counters, and the counters that are left."""
