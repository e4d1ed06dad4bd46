"""The processing element: multiplies, and merges partial rows in sorting queues."""
