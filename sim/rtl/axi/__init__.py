"""Checkers of AXI in SystemVerilog, and how they are bound to a unit."""
