"""The command of neural networks on graphs: what it takes, and what it refuses."""
