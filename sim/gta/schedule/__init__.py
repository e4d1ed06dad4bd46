"""How a p-GEMM is laid out on GTA: the space of schedules, what each takes, and which is chosen.

Source: the paper's section 5. All of it is a model: cycles are the array's, see `array_cycles`;
nothing here runs.
"""
