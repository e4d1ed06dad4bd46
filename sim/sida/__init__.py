"""SIDA: reuse of a sparse matrix across iterations, by the OEI dataflow."""
