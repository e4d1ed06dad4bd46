"""What an accelerator is to a driver: registers and memory."""
