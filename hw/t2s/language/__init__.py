"""The language: what is computed, and how it lies in space. Plain Python, nothing is parsed."""

from .computation import Computation
from .definition import compute
from .indices import Index, indices
from .isolated import Isolated
from .places import MappingError
from .sizes import sizes
from .tensors import Tensor, absolute, negate, relu, tensor

__all__ = [
    "Computation",
    "Index",
    "Isolated",
    "MappingError",
    "Tensor",
    "absolute",
    "compute",
    "indices",
    "negate",
    "relu",
    "sizes",
    "tensor",
]
