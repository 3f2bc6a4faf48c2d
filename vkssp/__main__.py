"""Entry of ``vkssp`` and ``python -m vkssp``, which is ready for signals before anything large is imported."""

import sys


def main() -> int:
    """Run the command line, and return its exit code."""
    try:
        from vkssp.signals import run

        return run(_command)
    except KeyboardInterrupt:
        return 130


def _command() -> int:
    from vkssp.cli import main

    return main()


if __name__ == "__main__":
    sys.exit(main())
