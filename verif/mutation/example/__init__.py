"""A component and its bench, which is not collected: the runner of mutants is tested on them."""
