"""AXI4: managers that move bursts between streams and memory, and AXI4-Lite registers."""
