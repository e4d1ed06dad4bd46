"""Neural networks on graphs, on any of several accelerators."""
