"""``python -m vkssp``, the same as ``vkssp``."""

import sys

from vkssp.cli import main

if __name__ == "__main__":
    sys.exit(main())
