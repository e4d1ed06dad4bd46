"""The paper's nine workloads (its table 2) as p-GEMMs; it names no sizes, these are ours."""
