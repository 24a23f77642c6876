"""Build the library of fastbpe, `_compiled`, from each `.pyx` below `src/fastbpe`.

Switches, read from the environment:
    FASTBPE_SANITIZE=1: build under ASan and UBSan. "thread": under ThreadSanitizer. "fuzzer": under ASan, with the
        counters of branches that libFuzzer reads (needs CC=clang).
    FASTBPE_COVERAGE=1: let gcov count the runs of each line of C. `.ci/coverage` sets it in a copy of the tree.
    FASTBPE_FAST_BUILD=1: compile with -O1, in about half the time. CI sets it for other Pythons and the sdist.
    FASTBPE_CLANG_CL=1: on Windows, compile with clang-cl, as for wheels: it compiles the SIMD paths. MSVC does
        not; its modules give the same ids with scalar code.
"""

import gc
import json
import os
import re
import runpy
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import Cython
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext
from setuptools.errors import ExecError
from setuptools.modified import newer_group

# Cython keeps millions of objects while it translates, and each collection of garbage traverses them again. With
# few collections, the translation takes 50 s of processor time instead of 82, and a process 480 MB instead of 430;
# with none, 730 MB. Each import of this file sets the threshold: Cython's worker processes may be new ones.
# (CPython 3.11.7, Cython 3.3.1, one after the other, AMD EPYC with other work running, 2026-11-29.)
gc.set_threshold(1_000_000)

if sys.maxsize < 1 << 32:
    sys.exit("error: fastbpe needs a 64-bit Python, and this one is a 32-bit program: install a 64-bit one")

PACKAGE = Path("src/fastbpe")
CORE = PACKAGE / "_core"
# Module of the code that Cython would repeat in each module, such as memory views. With it, all modules take
# 5.4 MB instead of 8.7 (CPython 3.11, x86-64, 2026-11-25). It is compiled for size, because a call runs little of
# it: 0.11 MB instead of 0.20 (2026-11-26).
SHARED = "fastbpe._core._cython_shared"
# Modules whose methods are called once for each short text keep that code: with the shared module, a call of
# `encode` on 100 bytes takes 4 to 6 % longer (benchmarks/compare.py short, paired, AMD Zen 5, 2026-11-25). Users
# see the functions of these modules, so they are compiled with `binding`, which lets a declaration set their help.
# The functions of the other modules are plain C functions, 8 % smaller.
# Tried and dropped: -O1 for these modules. Six of them compile in 7.5 s instead of 12.2 with -O2, and short calls
# take as many instructions within 0.3 %, but 4 to 9 % more time (GCC 12, AMD Zen 4, 22 pairs of processes,
# 2026-11-29).
OFTEN_CALLED = {
    *("encoder", "decoder", "stream_decoder", "tokenizer_methods"),
    *("_encoding_methods", "_minbpe_methods", "_processor_methods", "_facts"),
}
LIBRARY = "fastbpe._compiled"
ALONE = OFTEN_CALLED | {"_compiled"}  # `_compiled` is imported before the shared module
# Modules in which no row of benchmarks/compare.py spends its time are compiled for size: about a quarter smaller.
FOR_SIZE = {
    *("charsmap_builder", "charsmap_rules", "completions", "dropping", "kept_memory", "log_scores"),
    *("merges_as_ranks", "_messages", "scratch_pool", "sequence_merging", "sequence_vocabulary", "sequences"),
    *("untrusted_ids", "places", "by_character", "merge_dropout", "language_choice", "merges_as_scores"),
    *("text_cuts", "text_views", "token_limits"),
}
# Folders and modules whose loops gain from -O3. The others are compiled with -O2: a tenth smaller, for 0.8 % more
# instructions in a short `encode`, 1.4 % in a short `decode`, none in a long one; -Os costs 9 and 17 %. With -O2
# for cache and merge, too, a first `encode` took 3 % more. (GCC 12, x86-64, callgrind, 2026-11-27.)
FOR_SPEED = {"cache", "count_limits", "formats", "merge", "segment", "split", "text", "train"}
COVERAGE = bool(os.environ.get("FASTBPE_COVERAGE"))
SANITIZERS = {"1": "address,undefined", "thread": "thread", "fuzzer": "address,fuzzer-no-link"}
sanitize = os.environ.get("FASTBPE_SANITIZE")
if sanitize and sanitize not in SANITIZERS:
    raise SystemExit(f"FASTBPE_SANITIZE={sanitize}: unset it, or choose one of {', '.join(SANITIZERS)}")

if sanitize:
    link_args = [f"-fsanitize={SANITIZERS[sanitize]}"]
    compile_args = ["-std=gnu11", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-strict-aliasing"]
    compile_args += ["-ffp-contract=off", *link_args]
elif COVERAGE:
    compile_args = ["-std=gnu11", "-O1", "-fno-strict-aliasing", "--coverage"]
    link_args = ["--coverage"]
else:
    optimize = "-O1" if os.environ.get("FASTBPE_FAST_BUILD") else "-O3"
    # Unigram models depend on how sums of floats are rounded: no fused multiply-add may round once, not twice.
    compile_args = ["-std=gnu11", optimize, "-g0", "-fno-strict-aliasing", "-ffp-contract=off"]
    if optimize == "-O3":
        compile_args.append("-Wno-all")  # Python's flags have -Wall, which takes 5 % of GCC 12's time
        # Each function begins a cache line, so its speed does not change with the code before it: a `count` of 100
        # bytes takes 3 to 7 % less time, 10 other rows from 3.4 % less to 3.4 % more; the modules take 4.5 MB
        # instead of 4.2. (60 pairs of processes, twice, AMD Zen 1, GCC 12, 2026-11-30.) GCC ignores it with -Os.
        compile_args.append("-falign-functions=64")
    link_args = []
    if sys.platform == "linux":
        # No tables for unwinding C, which only debuggers read: the modules take 5.0 MB instead of 5.3. No symbol
        # table, which would be an eighth of the installed size. (GCC 12, x86-64, 2026-11-26.)
        compile_args.append("-fno-asynchronous-unwind-tables")
        link_args = ["-Wl,-s"]


def included_headers(source: Path) -> set[Path]:
    """List the headers of this project that a C file includes, directly or through other headers.

    The generated C is read, and not the `.pyx`: Cython also includes what cimported `.pxd` files declare.
    """
    found: set[Path] = set()
    waiting = [source]
    while waiting:
        file = waiting.pop()
        for name in re.findall(rb'#include "([^"\n]+)"', file.read_bytes()):
            for folder in (file.parent, CORE, Path("build/cython")):
                header = Path(os.path.normpath(folder / os.fsdecode(name)))
                if header.is_file():
                    if header not in found:
                        found.add(header)
                        waiting.append(header)
                    break
    return found


def make_extension(name: str, source: Path) -> Extension:
    """Describe the extension `name`, which is compiled from `source`."""
    return Extension(
        name,
        [source.as_posix()],
        include_dirs=[CORE.as_posix(), "build/cython"],
        extra_compile_args=compile_args,
    )


def optimized(extension: Extension, level: str) -> Extension:
    """Have an extension compiled with another level than -O3."""
    extension.extra_compile_args = [level if arg == "-O3" else arg for arg in compile_args]
    return extension


def with_current_c(extensions: list[Extension]) -> list[Extension] | None:
    """Return the extensions with their C, if this Cython wrote all of it after the last edit; else None.

    Cython itself translates again if its own files are newer than the C, as in each isolated build, which installs
    Cython anew. That takes 40 s of processor time, and CI has five such builds.
    """
    c = [Path("build/cython", extension.sources[0]).with_suffix(".c") for extension in extensions]
    if not all(file.is_file() for file in c):
        return None
    read = [file for file in PACKAGE.rglob("*") if file.suffix in (".pyx", ".pxd", ".h")]
    newest = max(file.stat().st_mtime_ns for file in [Path("setup.py"), *read])
    made = f"/* Generated by Cython {Cython.__version__} */".encode()
    for file in c:
        with open(file, "rb") as lines:
            if file.stat().st_mtime_ns <= newest or lines.readline().rstrip() != made:
                return None
    for file, extension in zip(c, extensions, strict=True):
        extension.sources = [file.as_posix()]
    return extensions


def to_c(extensions: list[Extension], shared: str | None) -> list[Extension]:
    """Translate to C. Code that Cython would repeat in each module comes from the module `shared`, unless None.

    Functions of modules that share it are plain C functions. To let a class without pointers be pickled, Cython
    would add 9 KB to it; classes here are pickled in other ways.
    """
    # Half of the time goes into reading `.pxd` files, anew for each module. Tried and dropped: one process reads
    # all of them, then forks for each module. That took 45 s of processor time instead of 67, but needed private
    # names of Cython (3.3.1, AMD EPYC Zen 1 with other work running, 2026-11-29).
    c = [Path("build/cython", extension.sources[0]).with_suffix(".c") for extension in extensions]
    oldest = min((file.stat().st_mtime_ns for file in c if file.is_file()), default=0)
    translated: list[Extension] = cythonize(
        extensions,
        force=oldest < Path("setup.py").stat().st_mtime_ns,  # Cython does not notice a changed directive
        shared_utility_qualified_name=shared,
        build_dir="build/cython",
        nthreads=os.cpu_count() or 1,
        compiler_directives={
            "language_level": "3",
            "boundscheck": False,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": False,
            "auto_pickle": False,
            "emit_code_comments": COVERAGE,  # a third of the C
            "binding": shared is None,
            "freethreading_compatible": True,  # the rules are in ARCHITECTURE.md
            "embedsignature": True,
            "embedsignature.format": "clinic",
        },
    )
    return translated


def write_if_other(file: Path, text: str) -> None:
    """Write a text unless the file has it already, so that the file's time is that of its last change."""
    if not file.is_file() or file.read_text() != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


# Classes of the scanners, by category or its first letter; simd/classes.h names the numbers.
SCANNER_CLASSES = {"Lu": 1, "Lt": 1, "Ll": 2, "Lm": 3, "Lo": 3, "M": 4, "N": 5, "P": 7, "S": 7}
SPACE, NEWLINE = 6, 8


def scanner_classes() -> bytearray:
    """Return the scanner class of every code point, by the tables of the split patterns."""
    tables = runpy.run_path(str(PACKAGE / "splitting" / "unicode_tables.py"))
    classes = bytearray()
    for run in tables["CATEGORY_RUNS"].split():
        category, length = run[:2], int(run[2:], 36)
        classes += bytes([SCANNER_CLASSES.get(category, SCANNER_CLASSES.get(category[0], 0))]) * length
    end = 0
    for word in tables["WHITE_SPACE"].split():
        gap, length = (int(number, 36) for number in word.split("."))
        end += gap + length
        classes[end - length : end] = bytes([SPACE]) * length
    classes[0x0A] = classes[0x0D] = NEWLINE
    return classes


def scanner_tables() -> str:
    """Return a C header with the scanner classes of all characters; simd/classes.h has the look-ups.

    Outside ASCII, a row is the 64 characters whose UTF-8 differs only in the last byte. A row has three numbers:
    bit i of number k is bit k of the class of character i; class 8 needs a fourth, but is ASCII only. Row 0 has no
    class; C fills gaps of the index with it, and 0x80 to 0xBF of the first table: in text that is not UTF-8,
    fb_char_bytes takes these for a character of one byte.
    """
    classes = scanner_classes()
    ascii_classes = ", ".join(map(str, classes[:128]))
    classes[:128] = bytes(128)
    index, numbers = [], []
    for part in (range(0, 0x10000, 64), range(0x10000, 0x110000, 64)):  # beyond U+FFFF, rows start at 0 again
        row_numbers = {bytes(64): 0}
        for at in part:
            number = row_numbers.setdefault(bytes(classes[at : at + 64]), len(row_numbers))
            if number:
                index.append(f"[{at >> 6}] = {number}")
        if len(row_numbers) > 256:
            sys.exit(f"error: {len(row_numbers)} distinct rows of classes do not fit a byte")
        numbers.append([f"{{{', '.join(hex(bits_of(row, k)) for k in range(3))}}}" for row in row_numbers])
    bmp, others = numbers
    return (
        f"#define FB_BMP_ROWS {len(bmp)} /* the number of the first row beyond U+FFFF */\n"
        f"static const uint8_t fb_ascii_classes[192] = {{{ascii_classes}}};\n"
        f"static const uint8_t fb_row_index[17408] = {{{', '.join(index)}}};\n"
        f"static const uint64_t fb_rows[{len(bmp) + len(others)}][3] = {{{', '.join(bmp + others)}}};\n"
    )


def bits_of(row: bytes, k: int) -> int:
    """Return a number whose bit i is bit k of byte i of a row."""
    return sum((byte >> k & 1) << i for i, byte in enumerate(row))


class Library(Extension):
    """The shared object of all compiled modules, each of which is compiled by itself."""

    def __init__(self, modules: list[Extension]) -> None:
        headers = {header for module in modules for header in module.depends}
        sources = [module.sources[0] for module in modules]
        super().__init__(LIBRARY, sources, depends=["setup.py", *headers], extra_link_args=link_args)
        self.modules = modules


def make_library() -> Library:
    """Find all modules, translate them to C, and write two headers: their names, and the tables of classes."""
    modules_of = {
        source: make_extension(".".join(source.relative_to("src").with_suffix("").parts), source)
        for source in sorted(PACKAGE.rglob("*.pyx"))
    }
    for source, module in modules_of.items():
        if source.stem in FOR_SIZE:
            optimized(module, "-Os")
        elif not FOR_SPEED.intersection(source.with_suffix("").parts):
            optimized(module, "-O2")
    shared_module = make_extension(SHARED, (Path("src") / SHARED.replace(".", "/")).with_suffix(".c"))
    optimized(shared_module, "-Os")
    shared = [shared_module, *(module for source, module in modules_of.items() if source.stem not in ALONE)]
    alone = [module for source, module in modules_of.items() if source.stem in ALONE]
    modules = with_current_c([*shared, *alone]) or to_c(shared, SHARED) + to_c(alone, None)
    names = sorted(module.name for module in modules if module.name != LIBRARY)
    if len({name.rpartition(".")[2] for name in names}) < len(names):
        sys.exit("error: two compiled modules have the same base name, by which Python finds each: rename one")
    write_if_other(
        Path("build/cython/compiled_modules.h"),
        "#define COMPILED_MODULES \\\n" + " \\\n".join(f'"{name} "' for name in names) + "\n",
    )
    write_if_other(Path("build/cython/unicode_tables.h"), scanner_tables())
    for module in modules:  # an edited header rebuilds the modules that include it, and no others
        (source,) = module.sources
        module.depends = sorted(header.as_posix() for header in included_headers(Path(source)))
    return Library(modules)


def for_msvc(arguments: list[str], *, is_clang: bool) -> list[str]:
    """Translate arguments of GCC into those of MSVC and clang-cl, which do not assume strict aliasing."""
    if "--coverage" in arguments or any(argument.startswith("-fsanitize") for argument in arguments):
        sys.exit(
            "error: FASTBPE_SANITIZE and FASTBPE_COVERAGE need GCC or Clang, and this build has MSVC: unset them"
        )
    level = "/O1" if {"-Os", "-O1"}.intersection(arguments) else "/O2"
    return [level, *(["/clang:-ffp-contract=off"] if is_clang else [])]


def clang_cl() -> str:
    """Find clang-cl."""
    found = shutil.which("clang-cl")
    if found is None:
        sys.exit("error: FASTBPE_CLANG_CL is set, and no folder of PATH has clang-cl: install LLVM, or unset it")
    return found


class BuildExtensions(build_ext):
    """Compile modules side by side, each with its own arguments, and link them into one shared object.

    Keep what an editable install compiles, so that the next `build_ext --inplace` finds nothing to do. On Windows,
    translate the compiler's arguments, and compile with clang-cl where FASTBPE_CLANG_CL asks for it.
    """

    def build_extension(self, library: Library) -> None:
        if self.compiler.compiler_type == "msvc":
            self.compiler.initialize(self.plat_name)  # finds MSVC: its linker, headers and libraries
            is_clang = bool(os.environ.get("FASTBPE_CLANG_CL"))
            if is_clang:
                self.compiler.cc = clang_cl()
            for module in library.modules:
                module.extra_compile_args = for_msvc(module.extra_compile_args, is_clang=is_clang)
            library.extra_link_args = []
        old = [module for module in library.modules if self.is_old(module)]
        with TemporaryDirectory() as folder, ThreadPoolExecutor(self.parallel) as pool:
            if len(old) > 10:  # fewer modules save less time than the headers take
                self.precompile(folder, old)
            list(pool.map(self.compile_module, old))
        library.extra_objects = [self.object_of(module) for module in library.modules]
        library.depends, library.sources = library.extra_objects, []
        super().build_extension(library)

    def object_of(self, module: Extension) -> str:
        """Name the object file of a module."""
        (file,) = self.compiler.object_filenames(module.sources, output_dir=self.build_temp)
        return str(file)

    def is_old(self, module: Extension) -> bool:
        """Tell whether a module was edited after it was compiled."""
        return bool(self.force or newer_group([*module.sources, *module.depends], self.object_of(module)))

    def precompile(self, folder: str, modules: list[Extension]) -> None:
        """Have GCC read Python's headers once per set of arguments: each module, of at least 0.5 s, saves 0.09 s.

        Each set has its own precompiled header: GCC would use one made with -O2 for -O3, too, and optimize at the
        wrong level. If GCC cannot precompile, as in an emulator, nothing changes. (GCC 12, x86-64, -Os and -O2,
        2026-11-29.)
        """
        if sanitize or COVERAGE or sys.platform != "linux" or "gcc" not in Path(self.compiler.compiler_so[0]).name:
            return
        headers = {}
        for arguments in {tuple(module.extra_compile_args) for module in modules}:
            header = headers[arguments] = f"{folder}/python{''.join(arguments)}.h"
            Path(header).write_text("#define PY_SSIZE_T_CLEAN\n#include <Python.h>\n")
            gcc = [*self.compiler.compiler_so, *(f"-I{path}" for path in self.compiler.include_dirs), *arguments]
            try:
                self.compiler.spawn([*gcc, header, "-o", f"{header}.gch"])
                self.compiler.spawn([*gcc, "-include", header, "-fsyntax-only", "-x", "c", os.devnull])
            except ExecError:
                return
        for module in modules:
            header = headers[tuple(module.extra_compile_args)]
            module.extra_compile_args = [*module.extra_compile_args, "-include", header]

    def compile_module(self, module: Extension) -> None:
        """Compile a module."""
        self.compiler.compile(
            module.sources,
            output_dir=self.build_temp,
            include_dirs=module.include_dirs,
            debug=self.debug,
            extra_postargs=module.extra_compile_args,
        )

    def finalize_options(self) -> None:
        super().finalize_options()
        if self.editable_mode:  # setuptools would compile in a temporary folder
            tag = f"{self.plat_name}-{sys.implementation.cache_tag}"
            self.build_lib, self.build_temp = f"build/lib.{tag}", f"build/temp.{tag}"


# Work of others in the compiled modules and tables: name, version, licence (SPDX), the part that is used.
OTHERS = (
    ("Cython", Cython.__version__, "Apache-2.0", "code that Cython writes into each compiled module"),
    ("Unicode Character Database", "16.0.0", "Unicode-3.0", "properties of characters, as tables"),
    ("sentencepiece", "0.2.3", "Apache-2.0", "normalization rules, as tables"),
)


def bill_of_materials(name: str, version: str) -> str:
    """Write the SBOM of a wheel (PEP 770, CycloneDX 1.6). Equal builds have equal ones: no time, no random id."""

    def component(name: str, version: str, licence: str, about: str) -> dict[str, object]:
        return {
            "type": "data" if name.startswith("Unicode") else "library",
            "bom-ref": f"{name}@{version}",
            "name": name,
            "version": version,
            "description": about,
            "licenses": [{"license": {"id": licence}}],
            **({} if name.startswith("Unicode") else {"purl": f"pkg:pypi/{name.lower()}@{version}"}),
        }

    own = component(name, version, "MIT", "this wheel")
    others = [component(*other) for other in OTHERS]
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own},
        "components": others,
        "dependencies": [{"ref": own["bom-ref"], "dependsOn": [other["bom-ref"] for other in others]}],
    }
    return json.dumps(bill, indent=2) + "\n"


class BuildAnew(build):
    """Build in an empty folder, or the wheel would contain old modules, which Python would import."""

    def run(self) -> None:
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


class WheelWithBill(bdist_wheel):
    """Put the SBOM into the metadata of the wheel."""

    def egg2dist(self, egginfo_path: str, distinfo_path: str) -> None:
        super().egg2dist(egginfo_path, distinfo_path)
        facts = self.distribution.metadata
        folder = Path(distinfo_path, "sboms")
        folder.mkdir(exist_ok=True)
        bill = bill_of_materials(facts.get_name(), facts.get_version())
        Path(folder, "fastbpe.cdx.json").write_text(bill, encoding="utf-8")


# Cython's worker processes import this file again on macOS, on Windows and with Python 3.14.
if __name__ == "__main__":
    setup(
        ext_modules=[make_library()],
        cmdclass={"build": BuildAnew, "build_ext": BuildExtensions, "bdist_wheel": WheelWithBill},
        options={"build_ext": {"parallel": os.cpu_count() or 1}},
    )
