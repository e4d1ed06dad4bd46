"""All patterns of READY and all modes of a memory, on small readers and writers."""
