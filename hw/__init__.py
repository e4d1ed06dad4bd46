"""Amaranth components that become Verilog, and nothing else."""
