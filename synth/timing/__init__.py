"""Static timing: paths through a mapped netlist."""
