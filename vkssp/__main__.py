"""Entry point of ``vkssp`` and ``python -m vkssp``: handles signals and lack of memory before most imports."""

import os
import sys


def main() -> int:
    """Run the command line, and return its exit code."""
    try:
        import gc

        from vkssp.memory import guard_imports, save_addresses
        from vkssp.signals import ignore, run

        # Else numpy and scipy each start a thread for each core, which spin for a moment; no command needs them.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        save_addresses()  # before the first thread, which would reserve address space of its own
        guard_imports()
        code = run(_command)
        ignore()
        # Python would look for garbage again before it ends, among all that the libraries made.
        gc.freeze()
        return code
    except MemoryError as error:  # the modules that print other errors could not be imported
        message = str(error) or "there is not enough memory"
        if sys.stderr is not None:
            sys.stderr.write(f"vkssp: {message}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    finally:
        _drop_unwritten()


def _drop_unwritten() -> None:
    """Drop what standard error has no room for: Python would fail to write it at the end, and exit with status 120."""
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except OSError:
        sys.stderr = None


def _command() -> int:
    from vkssp.memory import shortage_named

    with shortage_named():
        from vkssp.cli import main

        return main()


if __name__ == "__main__":
    sys.exit(main())
