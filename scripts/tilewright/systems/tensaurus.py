"""Tensaurus: tensors times matrices, sparse and dense."""

from ..registry import System

SYSTEM = System(
    name="tensaurus",
    entries=(),
    tables={"ciss-bandwidth": "tilewright.tables.ciss_bandwidth:ciss_bandwidth"},
    commands={
        "spmttkrp": "tilewright.apps.tensors.products:spmttkrp",
        "spttmc": "tilewright.apps.tensors.products:spttmc",
        "spmm": "tilewright.apps.tensors.matrices:spmm",
        "spmv": "tilewright.apps.tensors.matrices:spmv",
        "gemv": "tilewright.apps.tensors.matrices:gemv",
        "cpd": "tilewright.apps.tensors.cpd:cpd",
        "tucker": "tilewright.apps.tensors.tucker:tucker",
        "gcn": "tilewright.apps.tensors.gcn:gcn",
    },
    place=5,
)
