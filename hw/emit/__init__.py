"""Writes an elaborated design as SystemVerilog, and its sidecar."""
