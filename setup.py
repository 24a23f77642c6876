"""Build the extensions of fastbpe: one for each `.pyx` below `src/fastbpe`.

Switches, read from the environment:
    FASTBPE_SANITIZE=1: build under ASan and UBSan.
    FASTBPE_COVERAGE=1: build with line tracing and with the C beside the `.pyx`, where Cython.Coverage looks for
        it. Slow code: `.ci/coverage` builds it in a copy of the tree.
"""

import os
import re
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

PACKAGE = Path("src/fastbpe")
CORE = PACKAGE / "_core"
COVERAGE = bool(os.environ.get("FASTBPE_COVERAGE"))

if sys.platform == "win32":
    compile_args, link_args = ["/O2"], []
elif os.environ.get("FASTBPE_SANITIZE"):
    compile_args = ["-std=gnu11", "-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined"]
    link_args = ["-fsanitize=address,undefined"]
else:
    compile_args = ["-std=gnu11", "-O1" if COVERAGE else "-O3", "-g0", "-fno-strict-aliasing"]
    link_args = ["-Wl,-s"] if sys.platform == "linux" else []  # no symbol table: an eighth of the installed size


def included_headers(source: Path) -> set[Path]:
    """List the headers of this project that a C file includes, directly or through other headers.

    The generated C is read, and not the `.pyx`: Cython also includes what cimported `.pxd` files declare.
    """
    found: set[Path] = set()
    waiting = [source]
    while waiting:
        file = waiting.pop()
        for name in re.findall(rb'#include "([^"\n]+)"', file.read_bytes()):
            for folder in (file.parent, CORE):
                header = Path(os.path.normpath(folder / os.fsdecode(name)))
                if header.is_file():
                    if header not in found:
                        found.add(header)
                        waiting.append(header)
                    break
    return found


extensions = cythonize(
    [
        Extension(
            ".".join(source.relative_to("src").with_suffix("").parts),
            [source.as_posix()],
            include_dirs=[CORE.as_posix()],
            define_macros=[("CYTHON_TRACE_NOGIL", "1")] if COVERAGE else [],
            extra_compile_args=compile_args,
            extra_link_args=link_args,
        )
        for source in sorted(PACKAGE.rglob("*.pyx"))
    ],
    build_dir=None if COVERAGE else "build/cython",
    nthreads=os.cpu_count() or 1,
    compiler_directives={
        "language_level": "3",
        "boundscheck": False,
        "wraparound": False,
        "cdivision": True,
        "initializedcheck": False,
        "embedsignature": True,
        "linetrace": COVERAGE,
    },
)
for extension in extensions:  # an edited header rebuilds the extensions that include it, and no others
    (source,) = extension.sources
    extension.depends = sorted(header.as_posix() for header in included_headers(Path(source)))


class BuildExtensions(build_ext):
    """Keep what an editable install compiles, so that the next `build_ext --inplace` finds nothing to do."""

    def finalize_options(self) -> None:
        super().finalize_options()
        if self.editable_mode:  # setuptools would compile in a temporary folder
            tag = f"{self.plat_name}-{sys.implementation.cache_tag}"
            self.build_lib, self.build_temp = f"build/lib.{tag}", f"build/temp.{tag}"


setup(
    ext_modules=extensions,
    cmdclass={"build_ext": BuildExtensions},
    options={"build_ext": {"parallel": os.cpu_count() or 1}},
)
