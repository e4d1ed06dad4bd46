"""Tensaurus: tensors times matrices, sparse and dense."""

from ..registry import System

SYSTEM = System(
    name="tensaurus",
    entries=(),
    commands={
        "spmttkrp": "tilewright.apps.tensors.products:spmttkrp",
        "spttmc": "tilewright.apps.tensors.products:spttmc",
        "spmm": "tilewright.apps.tensors.matrices:spmm",
        "spmv": "tilewright.apps.tensors.matrices:spmv",
    },
    place=5,
)
