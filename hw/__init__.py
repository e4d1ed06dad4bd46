"""Amaranth components: what becomes Verilog, and nothing else."""
