"""A language of spatial mappings, compiled to arrays with feeders, loaders and collectors."""
