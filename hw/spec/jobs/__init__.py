"""The jobs of every accelerator: a module each, with its ``job_spec``."""
