"""Names a computation as NumPy's einsum does."""

from __future__ import annotations

from string import ascii_letters

from ...errors import UserError
from ...hw.spec.t2s.program import Program

__all__ = ["expression_of", "same_expression"]


def expression_of(program: Program) -> str:
    """Returns "ik,kj->ij" in the program's own letters; of sums of products "ik,k+ik,k->i".

    Raises UserError if einsum has no name for it: other semirings, initial values, functions of
    words, and indices that are sums.
    """
    if program.semiring != "mma":
        raise UserError(f"{program.name} is no einsum: its semiring is {program.semiring}")
    if program.start:
        raise UserError(f"{program.name} is no einsum: its sums start from {program.start}")
    for tensor in program.tensors:
        for name in tensor.functions:
            raise UserError(f"{program.name} is no einsum: {tensor.name} has a function, {name}")
        for index in tensor.dimensions:
            if len(index.terms) != 1 or index.terms[0][1] != 1 or index.constant:
                raise UserError(f"{program.name} is no einsum: {tensor.name} has an index {index}")
    letters = dict(zip(program.indices, ascii_letters, strict=False))
    if all(len(name) == 1 for name in program.indices):
        letters = {name: name for name in program.indices}
    texts = {
        tensor.name: "".join(letters[index.variables[0]] for index in tensor.dimensions)
        for tensor in program.tensors
        if not tensor.image
    }
    products = (",".join(texts[name] for name in names) for names in program.products)
    return f"{'+'.join(products)}->{texts[program.result]}"


def same_expression(given: str, meant: str) -> bool:
    """Tells whether two expressions differ in their letters only."""
    return _plain(given.replace(" ", "")) == _plain(meant)


def _plain(text: str) -> str:
    names: dict[str, str] = {}
    found = []
    for letter in text:
        if letter.isalpha():
            found.append(names.setdefault(letter, ascii_letters[len(names) % len(ascii_letters)]))
        else:
            found.append(letter)
    return "".join(found)
