"""Reads and tidies yosys' intermediate language."""
