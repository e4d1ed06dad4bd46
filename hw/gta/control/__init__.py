"""Control of a job: the list of commands, their order, lanes and masks."""
