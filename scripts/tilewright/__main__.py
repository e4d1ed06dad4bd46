"""``python -m tilewright``: the command line of this process."""

import sys
from types import TracebackType


def _unless_interrupted(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if kind is not KeyboardInterrupt:  # which ends the process by its signal, and says enough
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _unless_interrupted  # until `interrupts` listens


def run() -> None:
    """Run the command line, and end the process with its status.

    Interrupted by a signal, the status is 128 and its number.
    """
    from . import interrupts
    from .errors import say
    from .interrupts import OutputLost, guard_streams

    interrupts.listen()
    try:
        guard_streams()
        from .cli import main

        status = main()
        sys.stdout.flush()
    except OutputLost as lost:
        status = lost.status
        if status == 2:
            say(lost)
    except KeyboardInterrupt:
        status = 130
    interrupts.leave_to_the_system()
    sys.exit(interrupts.exit_status() or status)


if __name__ == "__main__":
    run()
