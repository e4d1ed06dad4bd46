"""Long activities report to every listener; compilation time is counted separately."""

from contextlib import suppress

import pytest
from tilewright.hw.spec.host.activity import Activity, Event, Stopwatch, activity, listening

pytestmark = pytest.mark.quick


class Heard:
    """A listener's memory: the event, what it was about, how far that was."""

    def __init__(self) -> None:
        self.events: list[tuple[Event, str, int, str]] = []

    def __call__(self, event: Event, one: Activity) -> None:
        self.events.append((event, one.what, one.done, one.detail))


def test_events_come_in_order_one_within_the_other() -> None:
    heard = Heard()
    with listening(heard), activity("outer", total=3) as outer:
        outer.step()
        with activity("inner") as inner:
            inner.about("a part")
        outer.step(2)
    assert heard.events == [
        ("begin", "outer", 0, ""),
        ("step", "outer", 1, ""),
        ("begin", "inner", 0, ""),
        ("step", "inner", 0, "a part"),
        ("end", "inner", 0, "a part"),
        ("step", "outer", 3, ""),
        ("end", "outer", 3, ""),
    ]


def test_an_error_ends_what_it_goes_through() -> None:
    heard = Heard()
    with pytest.raises(KeyboardInterrupt), listening(heard), activity("outer"), activity("inner"):
        raise KeyboardInterrupt
    assert [event[:2] for event in heard.events] == [
        ("begin", "outer"), ("begin", "inner"), ("end", "inner"), ("end", "outer"),
    ]  # fmt: skip
    with activity("unheard"):
        pass
    assert len(heard.events) == 4


def test_each_of_several_listeners_hears_what_is_its_own() -> None:
    first, second = Heard(), Heard()
    with listening(first):
        with listening(second), activity("both"):
            pass
        with activity("one"):
            pass
    assert [what for _, what, *_ in first.events] == ["both", "both", "one", "one"]
    assert [what for _, what, *_ in second.events] == ["both", "both"]


def test_compiling_is_counted_once_and_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts compilations on a fake clock: nested ones are part of the outer one, a failed one
    counts, and nothing else does."""
    now = 100.0
    monkeypatch.setattr("time.perf_counter", lambda: now)
    watch = Stopwatch()
    now += 1
    with activity("outer", compiles=True):
        now += 10
        with activity("inner", compiles=True):
            now += 20
    now += 2
    with activity("not compiling"):
        now += 4
    with suppress(KeyboardInterrupt), activity("again", compiles=True):
        now += 40
        raise KeyboardInterrupt
    assert watch.compiled == pytest.approx(70)
    assert watch.seconds == pytest.approx(7)
    assert Stopwatch().compiled == 0
