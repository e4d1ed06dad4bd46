"""Times that others published for the square of a matrix of SuiteSparse."""

from __future__ import annotations

__all__ = ["PUBLISHED"]

#: Microseconds by matrix and by who: Gamma and ExTensor are accelerators with 128 GB/s, MKL is
#: a library on a processor; figures of the Gamma paper (Zhang et al., ASPLOS 2021).
PUBLISHED: dict[str, dict[str, float]] = {
    "wiki-Vote": {"Gamma": 210, "ExTensor": 681, "MKL": 7485},
    "p2p-Gnutella31": {"Gamma": 82, "ExTensor": 1089, "MKL": 3203},
    "ca-CondMat": {"Gamma": 263, "ExTensor": 2128, "MKL": 9592},
    "poisson3Da": {"Gamma": 374, "ExTensor": 6086, "MKL": 16388},
    "email-Enron": {"Gamma": 3338, "ExTensor": 12603, "MKL": 66102},
}
