"""Parse the C of every module for the systems and processors that get wheels, and for FreeBSD.

    python tools/cross_compile.py             all targets
    python tools/cross_compile.py NAME…       only these (see TARGETS)

It needs `ziglang` (in the [dev] extra), whose Clang comes with the C headers of all targets, and the C that
`python setup.py build_ext` leaves in build/cython. Nothing is linked or run. The headers of Python are those of
the running one, with a pyconfig.h made here: sizes of C types and the few facts that Python's headers ask for.
Cython writes its own functions into every file. Each is parsed in the first file that has it.

Nobody gives the headers of MSVC away. So for clang-cl only the headers of `_core/simd` are parsed, without a C
library: they hold all code that differs between compilers, but for a few lines in `_core/common`.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import ziglang

ROOT = Path(__file__).resolve().parent.parent
ZIG = Path(ziglang.__file__).parent
CORE = ROOT / "src/fastbpe/_core"
C = ROOT / "build/cython"
# Headers that do not parse alone: others include them in the middle of their code.
PARTS = (
    "abreast.h",
    "block_scan.h",
    "blocks.h",
    "columns_avx512.h",
    "merging_avx2.h",
    "merging_avx512.h",
    "piece_starts.h",
    "scalar_blocks.h",
    "words.h",
)

_SIZES = {"SHORT": 2, "INT": 4, "FLOAT": 4, "DOUBLE": 8, "LONG_LONG": 8, "VOID_P": 8, "SIZE_T": 8, "TIME_T": 8}
_SIZES |= {"PID_T": 4, "FPOS_T": 16, "OFF_T": 8, "UINTPTR_T": 8}
_FACTS = (
    "STDINT_H",
    "INTTYPES_H",
    "SYS_TYPES_H",
    "SYS_STAT_H",
    "STDDEF_H",
    "ERRNO_H",
    "STDARG_H",
    "WCHAR_H",
    "LONG_LONG",
)
# Declarations of the functions of string.h that `_core/simd` uses.
_STRING_H = """
#include <stddef.h>
void *memcpy(void *, const void *, size_t);
void *memset(void *, int, size_t);
void *memmove(void *, const void *, size_t);
void *memchr(const void *, int, size_t);
int memcmp(const void *, const void *, size_t);
int strcmp(const char *, const char *);
int strncmp(const char *, const char *, size_t);
size_t strlen(const char *);
"""
# A line that starts, changes or ends a condition of the preprocessor, or a static function up to its last brace.
_CONDITION_OR_FUNCTION = re.compile(
    r"^[ \t]*#[ \t]*(?P<directive>if|el|endif)(?:.*\\\n)*.*"
    r"|^(?P<head>static [^;{}#=\"]*\))\s*\{\n(?:(?!\}).*\n)*?\}$",
    re.MULTILINE,
)
# The largest headers are parsed once for each target: Python.h, and windows.h for the files that include it on
# Windows with any compiler.
_PYTHON_H = "#define PY_SSIZE_T_CLEAN\n#include <Python.h>\n"
_WINDOWS_H = "#define WIN32_LEAN_AND_MEAN\n#include <windows.h>\n"
_INCLUDES_WINDOWS_H = re.compile(r"^ *#ifdef _WIN32\n(?: *#.*\n)* *#include <windows\.h>", re.MULTILINE)
_UNIX = ("UNISTD_H", "PTHREAD_H", "SYS_TIME_H", "SYS_SELECT_H", "CLOCK_GETTIME")


class Target(NamedTuple):
    """A system with a processor, and the folders of its headers in ziglang."""

    triple: str
    headers: tuple[str, ...]
    long_bytes: int = 8
    is_clang_cl: bool = False

    @property
    def is_windows(self) -> bool:
        return "windows" in self.triple


def _linux(processor: str) -> Target:
    kernel = "x86" if processor == "x86_64" else processor
    folders = (f"{processor}-linux-musl", "generic-musl", f"{kernel}-linux-any", "any-linux-any")
    return Target(f"{processor}-unknown-linux-musl", folders)


TARGETS = {
    "windows-x64": Target("x86_64-w64-windows-gnu", ("any-windows-any",), 4),
    "windows-arm64": Target("aarch64-w64-windows-gnu", ("any-windows-any",), 4),
    "clang-cl-x64": Target("x86_64-pc-windows-msvc", (), 4, is_clang_cl=True),
    "clang-cl-arm64": Target("aarch64-pc-windows-msvc", (), 4, is_clang_cl=True),
    "macos-x64": Target("x86_64-apple-macos11", ("any-darwin-any",)),
    "macos-arm64": Target("aarch64-apple-macos11", ("any-darwin-any",)),
    "musl-x64": _linux("x86_64"),
    "musl-arm64": _linux("aarch64"),
    "freebsd-x64": Target("x86_64-unknown-freebsd14", ("x86_64-freebsd-none", "generic-freebsd")),
}


def pyconfig(target: Target) -> str:
    """Write the pyconfig.h of a target."""
    sizes = {**_SIZES, "LONG": target.long_bytes, "WCHAR_T": 2 if target.is_windows else 4}
    lines = [f"#define SIZEOF_{name} {size}" for name, size in sizes.items()]
    lines += [f"#define HAVE_{name} 1" for name in _FACTS + (() if target.is_windows else _UNIX)]
    lines += ["#define STDC_HEADERS 1", "#define WITH_DOC_STRINGS 1", "#define WITH_THREAD 1"]
    if target.is_windows:
        lines += [
            "#define MS_WINDOWS 1",
            "#define MS_WIN64 1",
            "#define NT_THREADS 1",
            "#define Py_ENABLE_SHARED 1",
        ]
    else:
        lines += ["#define SIZEOF_PTHREAD_T 8", "#define SIZEOF_PTHREAD_KEY_T 4"]
        lines += ["#define _GNU_SOURCE 1"]  # configure defines it on every system: musl then declares mremap
    return "\n".join(lines) + "\n"


def python_headers(folder: Path) -> Path:
    """Copy the headers of the running Python, without its pyconfig.h, into a folder."""
    place = folder / "python"
    shutil.copytree(sysconfig.get_path("include"), place, ignore=shutil.ignore_patterns("pyconfig*.h"))
    return place


def command(target: Target, folder: Path) -> list[str]:
    """Return the compiler's command for a target, without the name of the file."""
    own = folder / target.triple
    own.mkdir()
    (own / "pyconfig.h").write_text(pyconfig(target), encoding="utf-8")
    clang = [
        str(ZIG / "zig"),
        "clang",
        f"--target={target.triple}",
        "-fsyntax-only",
        "-std=gnu11",
        "-nostdinc",
        "-w",
    ]
    system = [ZIG / "lib/include", *(ZIG / "lib/libc/include" / name for name in target.headers)]
    clang += [f"-isystem{path}" for path in system]
    if target.is_clang_cl:
        (own / "string.h").write_text(_STRING_H, encoding="utf-8")
        clang += ["-ffreestanding", "-fms-extensions", "-fms-compatibility"]
    return [*clang, f"-I{own}", f"-I{folder / 'python'}", f"-I{CORE}", f"-I{C}"]


def without_repeated(code: str, parsed: set[tuple[str, ...]]) -> str:
    """Replace each function that is `parsed` already by its declaration, and add the others to `parsed`.

    A function is another one where the conditions around it (`#if`) are others. Lines keep their numbers.
    """
    conditions: list[str] = []

    def declaration(match: re.Match[str]) -> str:
        whole, head = match[0], match["head"]
        if head is None:
            before = "" if match["directive"] == "if" else conditions.pop()
            if match["directive"] != "endif":
                conditions.append(before + whole)
            return whole
        key = (*conditions, whole)
        if key not in parsed:
            parsed.add(key)
            return whole
        return head + ";" + "\n" * (whole.count("\n") - head.count("\n"))

    return _CONDITION_OR_FUNCTION.sub(declaration, code)


def c_of_modules(folder: Path) -> list[Path]:
    """Copy the C of all modules into a folder, each function in one of the files alone."""
    made: list[Path] = []
    parsed: set[tuple[str, ...]] = set()
    for file in sorted(C.rglob("*.c")):
        made.append(folder / "c" / file.relative_to(C))
        made[-1].parent.mkdir(parents=True, exist_ok=True)
        code = without_repeated(file.read_text(encoding="utf-8"), parsed)
        made[-1].write_text(f'#line 1 "{file.as_posix()}"\n{code}', encoding="utf-8")
    return made


def simd_headers(folder: Path) -> list[Path]:
    """Write files that include one header of `_core/simd` each."""
    made = folder / "simd"
    made.mkdir(exist_ok=True)
    for header in (CORE / "simd").glob("*.h"):
        if header.name not in PARTS:
            (made / f"{header.stem}.c").write_text(f'#include "simd/{header.name}"\n', encoding="utf-8")
    return sorted(made.iterdir())


def with_parsed(headers: str, arguments: list[str], folder: Path) -> list[str]:
    """Parse headers once that many files include. Returns arguments that use the result."""
    own = Path(tempfile.mkdtemp(dir=folder))
    (own / "first.h").write_text(headers, encoding="utf-8")
    compiling = [argument for argument in arguments if argument != "-fsyntax-only"]
    compiling += ["-x", "c-header", str(own / "first.h"), "-o", str(own / "first.pch")]
    subprocess.run(compiling, check=True)
    return [*arguments, "-include-pch", str(own / "first.pch")]


def for_many_files(arguments: list[str], file: Path) -> list[str]:
    """Return the command that Clang's driver starts for a file, without the file: it takes any number of files."""
    shown = subprocess.run([*arguments, "-###", str(file)], capture_output=True, text=True, check=True).stderr
    return shlex.split(shown.splitlines()[-1])[:-1]


def parse(arguments: list[str], files: list[Path]) -> list[str]:
    """Parse files in one process. Returns the compiler's errors, a text for each file that has some."""
    done = subprocess.run([*arguments, *map(str, files)], capture_output=True, text=True)
    if done.returncode == 0:
        return []
    alone = [text for file in files for text in parse(arguments, [file])] if len(files) > 1 else []
    return alone or [done.stderr or f"zig ended with {done.returncode}\n"]


def groups(target: Target, modules: list[Path], folder: Path) -> list[tuple[list[str], list[Path]]]:
    """Return the files to parse for a target, by the command that parses them."""
    arguments = command(target, folder)
    if target.is_clang_cl:
        return [(arguments, simd_headers(folder))]
    if not target.is_windows:
        return [(with_parsed(_PYTHON_H, arguments, folder), modules)]
    windows = [file for file in modules if _INCLUDES_WINDOWS_H.search(file.read_text(encoding="utf-8"))]
    others = [file for file in modules if file not in windows]
    return [
        (with_parsed(_PYTHON_H, arguments, folder), others),
        (with_parsed(_PYTHON_H + _WINDOWS_H, arguments, folder), windows),
    ]


def problems(names: list[str]) -> Iterator[str]:
    """Parse all files for some targets. Prints a line for each target, and yields the errors."""
    if not any(C.rglob("*.c")):
        sys.exit("there is no C in build/cython: run python setup.py build_ext --inplace")
    batches = 4 * (os.cpu_count() or 1)
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = Path(name)
        python_headers(folder)
        modules = c_of_modules(folder)
        for title in names:
            began = time.perf_counter()
            found: list[str] = []
            count = 0
            for arguments, files in groups(TARGETS[title], modules, folder):
                many = for_many_files(arguments, files[0])
                parts = [files[start::batches] for start in range(min(batches, len(files)))]
                for texts in pool.map(parse, [many] * len(parts), parts):
                    found += texts
                count += len(files)
            seconds = time.perf_counter() - began
            print(f"{title}: {count} files, {len(found)} with errors, {seconds:.1f} s", flush=True)
            yield from found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    # argparse compares [], the value without a NAME, with the choices, too.
    parser.add_argument("targets", nargs="*", choices=[[], *TARGETS], metavar="NAME", help=", ".join(TARGETS))
    names = parser.parse_args().targets or [*TARGETS]
    found = list(problems(names))
    print("".join(found), file=sys.stderr, end="")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
