"""Graphs as semiring products: shortest paths, closures, spanning trees, clusters, triangles."""
