"""The extensions of fastbpe. `FASTBPE_SANITIZE=1 pip install -e .` builds them under ASan and UBSan."""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

PACKAGE = Path("src/fastbpe")
CORE = PACKAGE / "_core"

if sys.platform == "win32":
    compile_args, link_args = ["/O2"], []
elif os.environ.get("FASTBPE_SANITIZE"):
    compile_args = ["-std=gnu11", "-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined"]
    link_args = ["-fsanitize=address,undefined"]
else:
    compile_args, link_args = ["-std=gnu11", "-O3", "-g0", "-fno-strict-aliasing"], []

extensions = [
    Extension(
        ".".join(source.relative_to("src").with_suffix("").parts),
        [source.as_posix()],
        include_dirs=[CORE.as_posix()],
        depends=[header.as_posix() for header in sorted((CORE / "simd").glob("*.h"))],
        extra_compile_args=compile_args,
        extra_link_args=link_args,
    )
    for source in sorted(PACKAGE.rglob("*.pyx"))
]

setup(
    ext_modules=cythonize(
        extensions,
        build_dir="build/cython",
        nthreads=os.cpu_count() or 1,
        compiler_directives={
            "language_level": "3",
            "boundscheck": False,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": False,
            "embedsignature": True,
        },
    ),
    options={"build_ext": {"parallel": os.cpu_count() or 1}},
)
