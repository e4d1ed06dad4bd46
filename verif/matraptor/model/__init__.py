"""The golden model against what others compute, and against its rules."""
