"""What `import fastbpe` and loading a native file do not import: each would cost every command its start."""

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
def test_a_named_pattern_needs_nothing_heavy(pattern: str | None, tmp_path: Path) -> None:
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


def test_what_is_imported_later_is_there_for_all_ways_to_ask() -> None:
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
def test_a_core_that_is_missing_and_one_that_does_not_load(hide: str, said: str) -> None:
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
