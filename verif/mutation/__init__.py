"""Measures the tests: it puts small faults into the emitted Verilog, and tests must fail."""
