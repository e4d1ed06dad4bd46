"""``python -m tilewright``: the command line."""

import sys

from .cli import main


def run() -> None:
    """Run the command line of this process."""
    sys.exit(main())


if __name__ == "__main__":
    run()
