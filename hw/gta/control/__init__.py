"""How a job is controlled: the list of commands, their order, lanes and masks."""
