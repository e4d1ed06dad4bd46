"""Register maps: what they refuse, what they say of themselves, fields in and out of words."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from tilewright.hw.axi.registers import AxiLiteRegisters, field_members
from tilewright.hw.spec.host.words import UnknownName
from tilewright.hw.spec.registers.register_map import Field, Register, RegisterMap
from tilewright.verif.kit.commands import refusal, refused

VALUE = Field(name="value", width=32)


def register(**changes: Any) -> Register:
    return Register(**{"name": "A", "offset": 8, "fields": (VALUE,), **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "no name"}, "the name of a field must be words joined by _, not 'no name'"),
        ({"low": -1}, "`low` of x must be at least 0, not -1"),
        ({"width": 0}, "`width` of x must be at least 1, not 0"),
        ({"access": "rx"}, "`access` of x must be one of rw, ro, w1c, wo, not 'rx'"),
        ({"reset": 8, "width": 3}, "`reset` of x must be in 0..7, not 8"),
    ],
)
def test_a_field_that_cannot_be(changes: dict[str, Any], message: str) -> None:
    assert refusal(lambda: Field(**{"name": "x", **changes})) == message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "1"}, "the name of a register must be words joined by _, not '1'"),
        ({"access": ""}, "`access` of A must be one of rw, ro, w1c, wo, not ''"),
        ({"bits": 16}, "`bits` of A must be 32 or 64, not 16"),
        ({"offset": 6}, "`offset` of A must be a multiple of 4, not 6"),
        ({"offset": 12, "bits": 64}, "`offset` of A must be a multiple of 8, not 12"),
        ({"fields": ()}, "the fields of A must be different, not []"),
        ({"fields": (Field(name="x"), Field(name="x", low=1))},
         "the fields of A must be different, not ['x', 'x']"),
        ({"fields": (Field(name="x", width=4), Field(name="y", low=3))},
         "`low` of A.y must be at least 4, not 3"),
        ({"fields": (Field(name="x", low=30, width=3),)},
         "the end of A.x must be at most 32, not 33"),
        ({"fields": (Field(name="x", constant=True),)},
         "A.x is constant, so its access must be ro"),
    ],
)  # fmt: skip
def test_a_register_that_cannot_be(changes: dict[str, Any], message: str) -> None:
    assert refusal(lambda: register(**changes)) == message


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (register(name="B"), "B at offset 0x8 must follow A, which ends at 0xc"),
        (register(name="B", offset=4), "B at offset 0x4 must follow A, which ends at 0xc"),
        (register(offset=12), "two members would be called `a`"),
    ],
)
def test_a_map_that_cannot_be(second: Register, message: str) -> None:
    assert refusal(lambda: RegisterMap(registers=(register(), second))) == message


def test_two_fields_must_not_make_one_member() -> None:
    done = Register(name="S", offset=0, access="w1c", fields=(Field(name="done"),))
    for kind in ("set", "clear"):
        other = Register(name="S_DONE", offset=4, fields=(Field(name=kind),))
        message = f"two members would be called `s_done_{kind}`"
        assert refusal(partial(RegisterMap, registers=(done, other))) == message


def test_fields_in_and_out_of_a_word() -> None:
    fields = (Field(name="x", low=1, width=3), Field(name="y", low=8, width=40))
    wide = register(bits=64, fields=fields)
    word = wide.put(x=5, y=0xFEDCBA9876)
    assert word == 5 << 1 | 0xFEDCBA9876 << 8
    assert (wide.get(word, "x"), wide.get(word, "y")) == (5, 0xFEDCBA9876)
    assert wide.put() == 0
    assert refusal(lambda: wide.put(x=8)) == "A.x must be in 0..7, not 8"
    assert refusal(lambda: wide.put(x=-1)) == "A.x must be in 0..7, not -1"
    with refused(UnknownName, "the field of A must be one of x, y, not 'z'"):
        wide.put(z=1)


def test_looking_up() -> None:
    second = register(name="B", offset=16, bits=64)
    both = RegisterMap(registers=(register(), second))
    assert both["B"] is second
    assert [r.name for r in both] == ["A", "B"]
    assert (both.size, both.address_bits) == (24, 5)
    with refused(UnknownName, "unknown register 'C'; `tilewright show UNIT` lists them all"):
        both["C"]


def test_the_description_says_everything() -> None:
    fields = (
        Field(name="busy", access="ro", doc="works"),
        Field(name="done", low=4, width=2, reset=1),
    )
    entry = register(name="STATUS", access="w1c", fields=fields, doc="state").describe()
    assert entry == {
        "name": "STATUS", "offset": 8, "bits": 32, "access": "w1c", "doc": "state",
        "fields": [
            {"name": "busy", "low": 0, "width": 1, "access": "ro", "reset": 0,
             "constant": False, "doc": "works"},
            {"name": "done", "low": 4, "width": 2, "access": "w1c", "reset": 1,
             "constant": False, "doc": ""},
        ],
    }  # fmt: skip


def test_members_of_the_hardware() -> None:
    fields = (
        Field(name="start", access="wo"),
        Field(name="done", low=1, access="w1c"),
        Field(name="mode", low=2, width=3, reset=5),
        Field(name="busy", low=8, access="ro"),
        Field(name="version", low=16, access="ro", constant=True),
    )
    table = RegisterMap(registers=(register(fields=fields), register(name="B", offset=12)))
    members = dict(field_members(table))
    done = ["a_done", "a_done_set", "a_done_clear"]
    assert [*members] == ["a_start", *done, "a_mode", "a_busy", "b"]
    flows = ["Out", "Out", "In", "In", "Out", "In", "Out"]
    assert [m.flow.name for m in members.values()] == flows
    assert members["a_mode"].init == 5


def test_hardware_that_cannot_be() -> None:
    table = RegisterMap(registers=(register(offset=0x100),))
    message = "`address_bits` must be at least 9, not 8"
    assert refusal(lambda: AxiLiteRegisters(table, 8)) == message
    names = RegisterMap(registers=(register(name="AR"),))
    assert refusal(lambda: AxiLiteRegisters(names, 8)) == "a field must not be called `ar`"
