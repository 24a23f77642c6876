"""Modules that `import fastbpe` and loading a native file leave unimported, so that every command starts fast."""

from pathlib import Path

import pytest

from fastbpe import Tokenizer
from helpers.child_processes import run_python
from helpers.shared_data import BYTES

HEAVY = {
    *("regex", "tqdm", "numpy", "difflib", "hashlib", "secrets", "concurrent.futures"),
    *(
        "fastbpe.cli",
        "fastbpe.training.train",
        "fastbpe.training.piece_counts",
        "fastbpe.splitting.charset",
        "fastbpe.splitting.syntax",
        "fastbpe.splitting.program",
    ),
}


@pytest.mark.parametrize("pattern", [None, "gpt2", "cl100k", "o200k", "llama3", "qwen2", "tekken"])
def test_named_pattern_imports_no_heavy_module(pattern: str | None, tmp_path: Path) -> None:
    path = tmp_path / "small.fbpe"
    Tokenizer.from_ranks(BYTES, pattern=pattern).save(path)
    printed = run_python(
        f"""
import sys
import fastbpe
tokenizer = fastbpe.load({str(path)!r})
assert tokenizer.decode(tokenizer.encode("a b")) == "a b"
print(sorted({HEAVY!r} & set(sys.modules)))
"""
    )
    assert printed == "[]\n"


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


@pytest.mark.parametrize(
    ("hide", "said"),
    [
        ("sys.modules['fastbpe._core.merge.vocabulary'] = None", "fastbpe's compiled core is missing: build it"),
        ("sys.meta_path.insert(0, Broken)", "fastbpe._core.merge.vocabulary: undefined symbol"),
    ],
)
def test_missing_core_is_explained_and_broken_core_keeps_its_error(hide: str, said: str) -> None:
    printed = run_python(
        f"""
import sys
class Broken:
    def find_spec(name, path, target=None):
        if name == "fastbpe._core.merge.vocabulary":
            raise ImportError(f"{{name}}: undefined symbol")
{hide}
try:
    import fastbpe
except ImportError as error:
    print(error)
"""
    )
    assert printed.startswith(said)
