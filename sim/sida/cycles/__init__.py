"""Cycle model of SIDA: every counter of a job, without its values."""
