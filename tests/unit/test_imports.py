"""Modules that `import fastbpe` and loading a native file leave unimported, so that every command starts fast."""

import importlib
import re
import sys
from pathlib import Path

import pytest

import fastbpe
from fastbpe import Tokenizer, _compiled
from fastbpe._compiled import MODULES
from fastbpe._utils import late_json
from helpers.child_processes import run_python
from helpers.shared_data import BYTES

HEAVY = {
    *("regex", "tqdm", "numpy", "difflib", "hashlib", "secrets", "concurrent.futures"),
    *(
        "fastbpe.cli",
        "fastbpe.training.dispatch",
        "fastbpe.training.piece_counts",
        "fastbpe.splitting.charset",
        "fastbpe.splitting.syntax",
        "fastbpe.splitting.program",
    ),
}


#: Modules of Python, and packages, that are slow to import: what needs one imports it at its first use.
QUICK = "asyncio bz2 hashlib lzma numpy regex shutil tempfile zipfile"
SLOW = f"{QUICK} ast dataclasses inspect"
PLAIN = "typing random tqdm json pathlib"
FACE = "fastbpe.tokenizers.trainers fastbpe.tokenizers.implementations"
TRAINING = "fastbpe.corpus.sources fastbpe.corpus.remote fastbpe.training.options fastbpe.training.dispatch"
BY_PYTHON = {"ast", "dataclasses"} if sys.version_info >= (3, 14) else set()  # Python's own modules import them
READING = "fastbpe.published.find fastbpe.formats.gpt2"  # of vocabularies by name


def test_named_pattern_imports_no_heavy_module(tmp_path: Path) -> None:
    patterns = [None, "gpt2", "cl100k", "o200k", "llama3", "qwen2", "tekken"]
    paths = [str(tmp_path / f"{pattern}.fbpe") for pattern in patterns]
    for pattern, path in zip(patterns, paths, strict=True):
        Tokenizer.from_ranks(BYTES, pattern=pattern).save(path)
    printed = run_python(
        f"""
import sys
import fastbpe
for path in {paths!r}:
    tokenizer = fastbpe.load(path)
    assert tokenizer.decode(tokenizer.encode("a b")) == "a b"
    print(sorted({HEAVY!r} & set(sys.modules)))
"""
    )
    assert printed == "[]\n" * len(paths)


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("fastbpe", f"{SLOW} {PLAIN} re enum contextlib fastbpe.tokenizer {TRAINING}"),
        (
            "fastbpe.tokenizer.tokenizer",
            f"{SLOW} {PLAIN} re contextlib fastbpe.formats.detect {TRAINING}",
        ),
        ("fastbpe.tokenizer.loading", f"{SLOW} {PLAIN} re contextlib fastbpe.formats.detect {TRAINING}"),
        ("fastbpe.tiktoken", f"{SLOW} {PLAIN} re fastbpe.formats.tiktoken {TRAINING}"),
        ("fastbpe.sentencepiece", f"{SLOW} typing sentencepiece {TRAINING}"),
        ("fastbpe.minbpe", f"{SLOW} random {TRAINING}"),
        ("fastbpe.rustbpe", f"{QUICK} random"),
        ("fastbpe.cli.count", "jinja2 subprocess"),
        (
            "fastbpe.tokenizers",
            f"{SLOW} typing contextlib copy decimal enum functools heapq json random re runpy ssl struct "
            f"subprocess transformers weakref {FACE} {TRAINING} {READING}",
        ),
    ],
)
def test_import_brings_no_heavy_module(module: str, heavy: str) -> None:
    printed = run_python(
        f"import sys; before = set(sys.modules); import {module}\n"
        f"print(sorted({set(heavy.split()) - BY_PYTHON!r} & sys.modules.keys() - before))"
    )
    assert printed == "[]\n"


@pytest.mark.daily
def test_lazy_names_are_found_by_import_dir_and_all() -> None:
    printed = run_python(
        """
import fastbpe
assert {"train", "count_pieces", "PieceCounts"} <= set(dir(fastbpe)) & set(fastbpe.__all__)
from fastbpe import *
assert train is fastbpe.train and count_pieces(["a"], pattern=None) == PieceCounts({"a": 1})
try:
    fastbpe.trian
except AttributeError as error:
    print(error)
"""
    )
    assert printed == "module 'fastbpe' has no attribute 'trian'\n"


@pytest.mark.parametrize("module", ["fastbpe._core.merge.vocabulary", "fastbpe._core._cython_shared"])
def test_missing_module_of_an_installed_core_is_named_and_not_called_unbuilt(module: str) -> None:
    printed = run_python(
        f"""
import importlib
import sys
sys.modules[{module!r}] = None
try:
    import fastbpe
except ImportError as error:
    print(error.name, "|", error)
"""
    )
    assert printed.startswith(f"{module} | fastbpe's module {module} is missing, though other parts")
    assert "force-reinstall" in printed
    assert "built" not in printed


def test_modules_that_compiled_functions_import_are_imported_by_python_modules() -> None:
    """PyInstaller finds the imports of modules in Python only; see the hook in `_pyinstaller`."""
    folder = Path(__file__).parents[2] / "src" / "fastbpe"  # an installed package has no .pyx
    by_suffix: dict[str, set[str]] = {}
    for suffix, indents in (("pyx", "+"), ("py", "*")):
        sources = "".join(file.read_text(encoding="utf-8") for file in folder.rglob(f"*.{suffix}"))
        found = re.findall(
            rf"^ {indents}(?:from ([\w.]+) import |import ([\w.]+)(?:$|  #))", sources, re.MULTILINE
        )
        by_suffix[suffix] = {"".join(names) for names in found}
    of_functions = {name for name in by_suffix["pyx"] if not name.startswith("fastbpe.")}
    assert {"heapq", "numbers"} <= of_functions <= by_suffix["py"]


def test_missing_module_of_a_frozen_program_is_named_with_the_way_out() -> None:
    printed = run_python(
        """
import importlib
import sys
sys.frozen = True
sys.modules["fastbpe._core.merge.symbol_ids"] = sys.modules["fastbpe._core._cython_shared"] = None
try:
    import fastbpe
except ImportError as error:
    print(error)
"""
    )
    assert printed.startswith("the program lacks fastbpe's module fastbpe._core._cython_shared: ")
    assert "PyInstaller's --collect-submodules=fastbpe" in printed


@pytest.mark.daily
def test_sources_that_were_not_built_say_so(tmp_path: Path) -> None:
    package = Path(fastbpe.__file__).parent
    for file in (path for path in package.rglob("*") if path.suffix in (".py", ".pyx")):
        copy = tmp_path / "fastbpe" / file.relative_to(package)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    (tmp_path / "fastbpe/_compiled.pyx").touch()  # an installed package has no sources
    printed = run_python(
        f"""
import importlib
import sys
sys.path.insert(0, {str(tmp_path)!r})
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in repr(finder)]
try:
    import fastbpe
except ImportError as error:
    print(error)
"""
    )
    assert printed.startswith("fastbpe's compiled core is missing: fastbpe._compiled was not built for")


def test_finder_of_the_compiled_modules_is_there_once_and_answers_for_them_alone() -> None:
    printed = run_python(
        """
import importlib, sys
before = list(sys.meta_path)
import fastbpe
importlib.reload(fastbpe)
*others, finder = sys.meta_path
print(others == before)
print([finder.find_spec(name) for name in ("fastbpe", "fastbpe._core", "fastbpe._core.absent", "encoder", "json")])
from fastbpe._core.encode import encoder
spec = finder.find_spec("fastbpe._core.encode.encoder")
print(encoder.__spec__ == spec, encoder.__file__ == spec.origin)
"""
    )
    assert printed == "True\n[None, None, None, None, None]\nTrue True\n"


def test_every_compiled_module_is_imported_from_the_one_shared_object() -> None:
    sources = Path(__file__).parents[2] / "src"
    names = {".".join(file.relative_to(sources).with_suffix("").parts) for file in sources.rglob("*.pyx")}
    assert names - {"fastbpe._compiled"} <= MODULES
    assert {importlib.import_module(name).__file__ for name in MODULES} == {_compiled.__file__}


def test_late_json_lacks_the_dunders_of_json() -> None:
    assert not hasattr(late_json, "__path__")  # with one, it would be a package
    assert late_json.loads("[1]") == [1]


def test_broken_core_keeps_its_error() -> None:
    printed = run_python(
        """
import importlib
import sys
class Broken:
    def find_spec(name, path, target=None):
        if name == "fastbpe._core.merge.vocabulary":
            raise ImportError(f"{name}: undefined symbol")
sys.meta_path.insert(0, Broken)
try:
    import fastbpe
except ImportError as error:
    print(error)
"""
    )
    assert printed == "fastbpe._core.merge.vocabulary: undefined symbol\n"
