"""Options that applications share, and the checked choice of an accelerator that they make."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, TypedDict, TypeVar

import typer

from ...choices import a_setting
from ...clocks import clock_rows, times
from ...errors import UserError, user_errors
from ...hw.spec.bridge import BAUD
from ...hw.spec.host import inputs
from ...hw.spec.host.words import not_one_of
from ...hw.spec.semirings import SEMIRINGS
from ...hw.spec.unit import Unit
from ...numbers_given import real, whole
from ...sim.rtl.toolchain import ToolMissing, require_tools
from ...sim.timing.memories import FLAT, MEMORIES, MemoryModel
from .files import check_output

__all__ = ["BACKENDS", "GIGAHERTZ", "PANEL", "BackendOption", "Choice", "ConfigOption",
           "DeviceOptions", "JsonOption", "SettingsOption", "Wire", "check_backend",
           "check_report_and_tools", "choose_memory", "gigahertz_option", "memory_option",
           "named_parameters", "named_semiring"]  # fmt: skip

AConfig = TypeVar("AConfig")

GIGAHERTZ = 2.0
"""Clock of an accelerator, unless it has one of its own."""

_ALIASES = {"plustimes": "mma", "plus-times": "mma"}

PANEL = "Unit"
"""Panel of the help for options of the unit."""

BACKENDS = ("rtl", "cycles", "model")
"""Backends of an accelerator that has a model of cycles."""

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "-c", "--config", help="TOML file of parameters of the unit.", rich_help_panel=PANEL
    ),
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Set a parameter of the unit; see `tilewright show UNIT`.",
        rich_help_panel=PANEL,
        autocompletion=a_setting,
    ),
]
BackendOption = Annotated[
    str,
    typer.Option(
        help="rtl: simulate the Verilog and check it against the model; cycles: the models of "
        "results and cycles; model: the model of results alone; board: a board at --port.",
        rich_help_panel=PANEL,
    ),
]
JsonOption = Annotated[
    Path | None,
    typer.Option(
        "--json", help="Write the report as JSON; with - to standard output, without the table."
    ),
]


def check_backend(backend: str) -> None:
    """Raise UserError for none of ``BACKENDS``."""
    if backend not in BACKENDS:
        raise UserError(not_one_of("backend", BACKENDS, backend))


def check_report_and_tools(json_file: Path | None, backend: str, wire: Wire | None = None) -> None:
    """Raise UserError before anything is computed: for a report that could not be written, and if
    what the RTL is simulated with is not there."""
    if json_file:
        check_output(json_file, (".json",))
    if backend == "rtl" and wire is None:
        with user_errors(ToolMissing):
            require_tools()


def named_parameters(file: Path | None, settings: Sequence[str]) -> dict[str, str]:
    """Parameters that a TOML file or settings name, with their text; whether they are sound is
    looked at later. Raises UserError if the file cannot be read."""
    found: dict[str, str] = {}
    if file is not None:
        with user_errors(OSError):
            content = inputs.read_bytes(file)
        with suppress(tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
            found = {name: str(value) for name, value in tomllib.loads(content.decode()).items()}
    texts = (setting.partition("=") for setting in settings)
    return found | {name.strip(): value.strip() for name, _, value in texts}


def memory_option(panel: str = PANEL) -> Any:
    """The option ``--memory``, in a panel of the help."""
    names = ", ".join(MEMORIES)
    return typer.Option(
        help=f"Memory of the cycle model: {names}; default hbm.", rich_help_panel=panel
    )


def gigahertz_option(default: str = f"{GIGAHERTZ:g}") -> Any:
    """The option ``--gigahertz``, and what its help says of the default."""
    return typer.Option(
        parser=real("--gigahertz", 0.01, 100), metavar="F", rich_help_panel=PANEL,
        help=f"Clock frequency in GHz, in 0.01..100; default {default}.",
    )  # fmt: skip


def choose_memory(name: str | None, backend: str, gigahertz: float | None) -> MemoryModel:
    """Returns the memory model of --memory. UserError if there is no such model, or if it, or the
    clock, is given to a backend without time."""
    if backend == "model":
        for option, given in (("--memory", name), ("--gigahertz", gigahertz)):
            if given is not None:
                raise UserError(
                    f"{option} needs a backend that counts cycles, rtl or cycles, not model"
                )
    memory = name or ("flat" if backend == "rtl" else "hbm")
    if memory not in MEMORIES:
        raise UserError(not_one_of("memory", MEMORIES, memory))
    if backend == "rtl" and memory != "flat":
        raise UserError(f"memory must be flat with the rtl backend, not {memory!r}")
    return MEMORIES[memory]


def named_semiring(name: str | None) -> str | None:
    """The semiring that the user or the application asks for, by the name of its row; UserError if
    there is none."""
    found = _ALIASES.get(name or "", name)
    if found is not None and found not in SEMIRINGS:
        raise UserError(not_one_of("semiring", SEMIRINGS, found))
    return found


class Wire(NamedTuple):
    """A serial line to a board: its port, and its bits per second."""

    port: str
    baud: int


class DeviceFields(TypedDict):
    """The fields of a :class:`Choice` that do not depend on the accelerator."""

    backend: str
    memory: MemoryModel
    gigahertz: float
    json_file: Path | None
    wire: Wire | None


@dataclass(frozen=True, kw_only=True)
class DeviceOptions:
    """The accelerator that a computation runs on, how, and where the report goes.

    ``shown``: the fields that are options of a command, in the order of its help; empty: all. The
    others keep their defaults.
    """

    shown: ClassVar[tuple[str, ...]] = ()

    config_file: ConfigOption = None
    settings: SettingsOption = None
    backend: BackendOption = "rtl"
    port: Annotated[
        str | None,
        typer.Option(help="Serial port of the board, with --backend board.", rich_help_panel=PANEL),
    ] = None
    baud: Annotated[
        int,
        typer.Option(
            parser=whole("--baud", 300, 100_000_000),
            metavar="N",
            rich_help_panel=PANEL,
            help="Bits per second of --port.",
        ),
    ] = BAUD
    memory: Annotated[str | None, memory_option()] = None
    gigahertz: Annotated[float | None, gigahertz_option()] = None
    json_file: JsonOption = None

    def __post_init__(self) -> None:
        if self.backend == "board":
            if self.port is None:
                raise UserError("--backend board needs --port, the board's serial port")
            # What runs there is the RTL.
            object.__setattr__(self, "backend", "rtl")
        elif self.port is not None:
            raise UserError(f"--port must come with --backend board, not with {self.backend}")

    @property
    def wire(self) -> Wire | None:
        """The serial line to a board, which the backend rtl then is; None without one."""
        return None if self.port is None else Wire(self.port, self.baud)

    def checked(self, gigahertz: float = GIGAHERTZ) -> DeviceFields:
        """The backend, its memory and its clock; raises UserError if they cannot be.

        ``gigahertz``: the accelerator's clock, unless the user says another
        """
        check_backend(self.backend)
        memory = choose_memory(self.memory, self.backend, self.gigahertz)
        clock = gigahertz if self.gigahertz is None else self.gigahertz
        return {
            "backend": self.backend, "memory": memory, "gigahertz": clock,
            "json_file": self.json_file, "wire": self.wire,
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Choice(Generic[AConfig]):
    """An accelerator, checked.

    Parameters
    ----------
    unit, config: the accelerator
    backend: rtl, cycles or model
    memory, gigahertz: of the cycle model each channel, and its clock
    json_file: where the report goes
    wire: to the board that "rtl" is; None if that is a simulation
    """

    unit: Unit
    config: AConfig
    backend: str
    memory: MemoryModel = FLAT
    gigahertz: float = GIGAHERTZ
    json_file: Path | None = None
    wire: Wire | None = None

    @property
    def ran_on(self) -> str:
        """The backend as the user names it."""
        return self.backend if self.wire is None else "board"

    @property
    def timing(self) -> dict[str, Any]:
        """Settings of the cycle model, for a report; empty with another backend."""
        if self.backend != "cycles":
            return {}
        return {"memory": self.memory.name, "gigahertz": self.gigahertz}

    def clock_rows(self, cycles: int) -> list[tuple[str, str]]:
        """Rows of a report: the time of cycles at clocks that are reached, and at the one that
        was simulated; none of a backend without time."""
        if self.backend == "model" or not cycles:
            return []
        config: Any = self.config
        return clock_rows(
            self.unit.name, config.resolved(), cycles, self.gigahertz, self.memory.name
        )

    def clock_figures(self, cycles: int | None) -> dict[str, Any]:
        """The same for JSON: "times", a list."""
        config: Any = self.config
        cycles = None if self.backend == "model" else cycles
        return {"times": times(self.unit.name, config.resolved(), cycles)}
