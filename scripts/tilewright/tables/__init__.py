"""The tables of ``tilewright table``: measured by synthesis, by models, on the RTL."""
