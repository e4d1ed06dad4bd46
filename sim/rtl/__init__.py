"""The native harness: Verilog and its sidecar as a device or a unit, at native speed."""
