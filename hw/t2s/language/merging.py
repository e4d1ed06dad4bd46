"""What products of sparse tensors, and sums of them, may be."""

from __future__ import annotations

from .places import MappingError
from .tensors import Products

__all__ = ["SPARSE_SEMIRINGS", "check_merging"]

SPARSE_SEMIRINGS = ("mma", "minplus", "maxplus", "minmax", "maxmin", "orand")
"""On which a product with what is not stored changes no sum."""


def check_merging(place: str, name: str, semiring: str, products: Products) -> None:
    """Refuse sums of products, and products with sparse tensors, that cannot be merged.

    A product needs entries of all its sparse tensors, a sum those of any of its products. Raises
    MappingError.
    """
    sparse = [one for product in products for one in product if one.tensor.sparse]
    if sparse and semiring not in SPARSE_SEMIRINGS:
        raise MappingError(
            f"{place}: {name}: semiring must be one of {', '.join(SPARSE_SEMIRINGS)}, as "
            f"{sparse[0].tensor.name} is sparse, not {semiring}"
        )
    for one in (one for product in products for one in product if sparse):
        if one.functions:
            raise MappingError(
                f"{place}: {name}: words of {one.tensor.name} must go through no function, as "
                f"{sparse[0].tensor.name} is sparse, not through {one.functions[0]}"
            )
    if len(products) == 1:
        return
    dense = [[one for one in product if not one.tensor.sparse] for product in products]
    for product, its in zip(products, dense, strict=True):
        told = " and ".join(one.tensor.name for one in product)
        if len(its) == len(product):
            raise MappingError(
                f"{place}: {name}: a product must have a sparse tensor if others are added to it, "
                f"unlike that of {told}"
            )
        if len(its) != len(dense[0]) or set(its) != set(dense[0]):
            first = " and ".join(one.tensor.name for one in products[0])
            raise MappingError(
                f"{place}: {name}: products that are added must have the same dense elements, "
                f"unlike that of {told} and that of {first}"
            )
