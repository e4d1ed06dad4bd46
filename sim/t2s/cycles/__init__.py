"""Cycle model of arrays that mappings describe: all their counters, cycle for cycle."""
