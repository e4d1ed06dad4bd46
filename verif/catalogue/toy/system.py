"""The registration. A system's: ``scripts/tilewright/systems``."""

from tilewright.registry import Entry, System, Work
from tilewright.verif.catalogue.toy.spec import TOY_ADDER

SYSTEM = System(
    name="toy",
    entries=(
        Entry(
            unit=TOY_ADDER,
            simulate={"verilator": "tilewright.verif.catalogue.toy.simulate:run"},
            golden="tilewright.verif.catalogue.toy.driver:golden",
            exercise="tilewright.verif.catalogue.toy.exercise:exercise",
            limits="tilewright.verif.catalogue.toy.limits:LIMITS",
            models={"model": "tilewright.verif.catalogue.toy.model:ToyAdderModel"},
            driver="tilewright.verif.catalogue.toy.driver:ToyAdderDriver",
            small={"outstanding": 2},
        ),
    ),
    tables={
        "toy-area": Work("tilewright.verif.catalogue.toy.table:toy_area", "The area of the toy.")
    },
    commands={
        "toy-add": Work(
            "tilewright.verif.catalogue.toy.command:toy_add",
            "Add a constant to the elements of an array, modulo 2 ** 32.",
        )
    },
    pages=("../verif/catalogue/toy/toy.md",),
)
