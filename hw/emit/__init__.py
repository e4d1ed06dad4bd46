"""From an elaborated design to SystemVerilog and its sidecar."""
