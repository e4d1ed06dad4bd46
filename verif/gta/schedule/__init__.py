"""Cycles, schedules and what they are compared with."""
