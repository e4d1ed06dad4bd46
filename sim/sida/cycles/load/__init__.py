"""Cycle model of SIDA: what reads and writes memory, and the order of a job."""
