"""Cycle model of what brings tiles, operands and tensors from memory."""
