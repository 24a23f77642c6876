"""Run the command `fastbpe` with `python -m fastbpe`."""

import sys

from fastbpe.cli import main

if __name__ == "__main__":
    sys.exit(main())
