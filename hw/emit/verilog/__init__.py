"""Writes SystemVerilog: modules, processes, expressions."""
