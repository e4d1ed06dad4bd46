"""Schedules of a p-GEMM on GTA: their space, the cost of each, and the choice of one.

Source: the paper's section 5. All of it is a model: cycles are the array's, see `array_cycles`;
nothing here runs.
"""
