"""Run the command `fastbpe` by `python -m fastbpe`."""

import sys

from fastbpe.cli import main

if __name__ == "__main__":
    sys.exit(main())
