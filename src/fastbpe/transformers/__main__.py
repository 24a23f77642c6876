"""python -m fastbpe.transformers: run a program with transformers' tokenizers accelerated."""

import sys

from fastbpe.transformers.running import main

sys.exit(main(sys.argv[1:]))
