"""Command of neural networks on graphs: its arguments, and its checks."""
