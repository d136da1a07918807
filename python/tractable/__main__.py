"""The command line: `tractable`, or `python -m tractable`."""

import signal
import sys

from ._tractable import main as run


def main() -> int:
    """Runs the command in sys.argv; the exit code."""
    # The program handles Ctrl-C itself, and saves first.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run(["tractable", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
