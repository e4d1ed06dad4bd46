"""The shared words: formats, configurations, opcodes. Plain Python, without Amaranth or NumPy."""
