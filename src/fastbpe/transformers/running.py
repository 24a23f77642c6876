"""Run a Python program after calling `patch`, for programs that cannot be edited."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from fastbpe.transformers.patching import patch

VARIABLE = "FASTBPE_PATCH"
USAGE = """\
usage: python -m fastbpe.transformers SCRIPT [ARGUMENT ...]
       python -m fastbpe.transformers -m MODULE [ARGUMENT ...]

Run a Python program with every tokenizer of transformers accelerated by fastbpe, with the same results.
Sets FASTBPE_PATCH=transformers, so that processes which the program starts do the same once they import
fastbpe.transformers (unpickling an accelerated tokenizer does).

example: python -m fastbpe.transformers train.py --epochs 1
"""


def main(arguments: Sequence[str]) -> int:
    """Run the program that the arguments name; its exceptions and exits reach the caller.

    Returns 0; or 2 if the arguments are wrong or there is no such file.
    """
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, end="", file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    is_module = arguments[0] == "-m"
    rest = [*arguments[is_module:]]
    if not rest or (rest[0].startswith("-") and not is_module):
        print(f"python -m fastbpe.transformers: pass a script or -m MODULE\n\n{USAGE}", end="", file=sys.stderr)
        return 2
    if not is_module and not os.path.exists(rest[0]):
        print(f"python -m fastbpe.transformers: no such file: {rest[0]}", file=sys.stderr)
        return 2
    os.environ[VARIABLE] = "transformers"
    patch()
    import pkgutil  # here: only a run needs these two
    import runpy

    sys.argv = rest
    if is_module:
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        # As python does. With -P or -I, which Python 3.10 does not show as safe_path, -m has put no folder there.
        if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
            is_script = pkgutil.get_importer(rest[0]) is None  # else a folder or zip file: run_path adds it
            sys.path[:1] = [os.path.dirname(os.path.realpath(rest[0]))] if is_script else []
        runpy.run_path(rest[0], run_name="__main__")
    return 0


def patch_if_asked() -> None:
    """Call `patch` if FASTBPE_PATCH, an environment variable with a comma-separated list, names transformers."""
    if "transformers" in map(str.strip, os.environ.get(VARIABLE, "").split(",")):
        patch()
