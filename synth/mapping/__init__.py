"""Maps Verilog to gates: the steps of the flow."""
