"""Clocks of boards: the oscillator, multiplied by a phase-locked loop of the device."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from amaranth.hdl import Instance, Signal

__all__ = ["PLLS", "Ecp5Pll", "Ice40Pll", "Pll", "Xilinx7Pll", "fastest_clock"]


@dataclass(frozen=True, kw_only=True)
class Pll(ABC):
    """A phase-locked loop, and how it is set.

    The oscillator is divided by ``divide``, multiplied by ``multiply``, which gives the frequency
    of the loop, and divided by ``output``.

    Parameters
    ----------
    reference_mhz: the oscillator
    divide, multiply, output: the three factors
    """

    reference_mhz: float
    divide: int
    multiply: int
    output: int

    # Limits of the device in MHz: behind the first divider, and of the loop.
    COMPARED = (0.0, 0.0)
    LOOP = (0.0, 0.0)

    @property
    def compared_mhz(self) -> float:
        return self.reference_mhz / self.divide

    @property
    def loop_mhz(self) -> float:
        return self.compared_mhz * self.multiply

    @property
    def mhz(self) -> float:
        """Frequency of the clock."""
        return self.loop_mhz / self.output

    @property
    def is_allowed(self) -> bool:
        low, high = self.COMPARED
        slow, fast = self.LOOP
        return low <= self.compared_mhz <= high and slow <= self.loop_mhz <= fast

    @classmethod
    @abstractmethod
    def factors(cls) -> Iterator[tuple[int, int, int]]:
        """All settings of the device: divide, multiply, output."""

    @abstractmethod
    def instance(self, i: Signal, o: Signal, locked: Signal, **second: Any) -> Instance:
        """The device's primitive: from the oscillator to the clock, and whether that is stable.

        ``second`` is what :meth:`lagging` returns, for a second clock.
        """

    def lagging(self, o: Signal, degrees: int) -> dict[str, Any]:
        """What the primitive has more for a second clock, of the same frequency, that lags behind
        the first. Raises ValueError if none is made."""
        raise ValueError(f"{type(self).__name__} makes no second clock")


@dataclass(frozen=True, kw_only=True)
class Ecp5Pll(Pll):
    """The PLL of ECP5, whose output is fed back (FPGA-TN-02200, EHXPLLL)."""

    COMPARED = (3.125, 400.0)
    LOOP = (400.0, 800.0)

    @classmethod
    def factors(cls) -> Iterator[tuple[int, int, int]]:
        # What is fed back has been divided: the loop is a multiple of the clock.
        for divide, times, output in product(range(1, 33), range(1, 81), range(1, 129)):
            yield divide, times * output, output

    def instance(self, i: Signal, o: Signal, locked: Signal, **second: Any) -> Instance:
        zeros = "RST STDBY PHASESEL0 PHASESEL1 PHASEDIR PHASESTEP PHASELOADREG PLLWAKESYNC ENCLKOP"
        disabled = "PLLRST_ENA INTFB_WAKE STDBY_ENABLE DPHASE_SOURCE"
        ports: dict[str, Any] = {f"i_{name}": 0 for name in zeros.split()}
        values: dict[str, Any] = {f"p_{name}": "DISABLED" for name in disabled.split()}
        return Instance(
            "EHXPLLL",
            a_FREQUENCY_PIN_CLKI=f"{self.reference_mhz:.6g}",
            a_FREQUENCY_PIN_CLKOP=f"{self.mhz:.6g}",
            a_ICP_CURRENT="12",
            a_LPF_RESISTOR="8",
            a_MFG_ENABLE_FILTEROPAMP="1",
            a_MFG_GMCREF_SEL="2",
            **values,
            p_OUTDIVIDER_MUXA="DIVA",
            p_CLKI_DIV=self.divide,
            p_CLKFB_DIV=self.multiply // self.output,
            p_CLKOP_ENABLE="ENABLED",
            p_CLKOP_DIV=self.output,
            p_CLKOP_CPHASE=self.output - 1,
            p_CLKOP_FPHASE=0,
            p_FEEDBK_PATH="CLKOP",
            **ports,
            i_CLKI=i,
            i_CLKFB=o,
            o_CLKOP=o,
            o_LOCK=locked,
            **second,
        )

    def lagging(self, o: Signal, degrees: int) -> dict[str, Any]:
        # In eighths of a cycle of the loop. A whole cycle of the clock less is the same phase.
        eighths = round(8 * self.output * degrees / 360)
        coarse = self.output - 1 + eighths // 8
        return {
            "a_FREQUENCY_PIN_CLKOS": f"{self.mhz:.6g}",
            "p_CLKOS_ENABLE": "ENABLED",
            "p_CLKOS_DIV": self.output,
            "p_CLKOS_CPHASE": coarse if coarse < 128 else coarse - self.output,
            "p_CLKOS_FPHASE": eighths % 8,
            "o_CLKOS": o,
        }


@dataclass(frozen=True, kw_only=True)
class Ice40Pll(Pll):
    """The PLL of iCE40, its own loop fed back (FPGA-TN-02052, SB_PLL40_CORE)."""

    COMPARED = (10.0, 133.0)
    LOOP = (533.0, 1066.0)
    # Highest frequency behind the first divider for each range of the filter, from range 1 on.
    FILTERS = (17.0, 26.0, 44.0, 66.0, 101.0, 133.0)

    @classmethod
    def factors(cls) -> Iterator[tuple[int, int, int]]:
        for divide, multiply, power in product(range(1, 17), range(1, 129), range(1, 7)):
            yield divide, multiply, 1 << power

    def instance(self, i: Signal, o: Signal, locked: Signal, **second: Any) -> Instance:
        filter_range = next(
            n for n, most in enumerate(self.FILTERS, 1) if self.compared_mhz <= most
        )
        return Instance(
            "SB_PLL40_CORE",
            p_FEEDBACK_PATH="SIMPLE",
            p_PLLOUT_SELECT="GENCLK",
            p_DIVR=self.divide - 1,
            p_DIVF=self.multiply - 1,
            p_DIVQ=self.output.bit_length() - 1,
            p_FILTER_RANGE=filter_range,
            i_RESETB=1,
            i_BYPASS=0,
            i_REFERENCECLK=i,
            o_PLLOUTGLOBAL=o,
            o_LOCK=locked,
        )


@dataclass(frozen=True, kw_only=True)
class Xilinx7Pll(Pll):
    """The PLL of the 7 series (UG472, PLLE2_BASE)."""

    COMPARED = (19.0, 450.0)
    LOOP = (800.0, 1600.0)

    @classmethod
    def factors(cls) -> Iterator[tuple[int, int, int]]:
        yield from product(range(1, 6), range(2, 65), range(1, 129))

    def instance(self, i: Signal, o: Signal, locked: Signal, **second: Any) -> Instance:
        fed_back = Signal()
        return Instance(
            "PLLE2_BASE",
            p_CLKIN1_PERIOD=1000 / self.reference_mhz,
            p_DIVCLK_DIVIDE=self.divide,
            p_CLKFBOUT_MULT=self.multiply,
            p_CLKOUT0_DIVIDE=self.output,
            i_CLKIN1=i,
            i_CLKFBIN=fed_back,
            o_CLKFBOUT=fed_back,
            o_CLKOUT0=o,
            o_LOCKED=locked,
            i_RST=0,
            i_PWRDWN=0,
        )


PLLS: dict[str, type[Pll]] = {"ecp5": Ecp5Pll, "ice40": Ice40Pll, "xilinx7": Xilinx7Pll}


def _serves(mhz: float, baud: int) -> bool:
    """Whether a bit on a serial line is, within one percent, a whole number of cycles."""
    cycles = mhz * 1e6 / baud
    return cycles >= 4 and abs(round(cycles) / cycles - 1) <= 0.01


def fastest_clock(
    family: str, reference_mhz: float, most_mhz: float, *, baud: int | None = None
) -> Pll:
    """The setting of a family's PLL whose clock is the fastest that is at most ``most_mhz``; of
    several, that whose loop is nearest to the middle of its range.

    With ``baud``, bits per second, the clock must be a multiple of it within one percent, at least
    four times. Raises ValueError if the device makes no such clock.
    """
    kind = PLLS[family]
    centre = sum(kind.LOOP) / 2
    best: tuple[float, float, int] | None = None
    chosen: Pll | None = None
    for divide, multiply, output in kind.factors():
        loop = reference_mhz * multiply / divide
        rank = loop / output, -abs(loop - centre), -divide
        if rank[0] > most_mhz or (best is not None and rank <= best):
            continue
        found = kind(reference_mhz=reference_mhz, divide=divide, multiply=multiply, output=output)
        if found.is_allowed and (baud is None or _serves(found.mhz, baud)):
            best, chosen = rank, found
    if chosen is None:
        serial = "" if baud is None else f" for {baud:,} baud"
        raise ValueError(
            f"no clock of {most_mhz:g} MHz or less is made from {reference_mhz:g} MHz{serial}"
        )
    return chosen
