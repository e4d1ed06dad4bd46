"""Tables of SIDA and of the OEI dataflow."""
