"""The shared words: formats, configurations, opcodes. Plain Python; imports nothing of ours or HDL."""
