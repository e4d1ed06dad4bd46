"""A driver of units that knows nothing but the sidecar and its schema.

It imports no part of the hardware, of the models or of the units' configurations; only the harness,
which brings payloads, registers and memory to the simulated Verilog as they are.
"""
