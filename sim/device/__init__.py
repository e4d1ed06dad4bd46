"""The interface between accelerators and drivers: registers and memory."""
