"""Types of `train`: mypy knows its options by name and type."""

import subprocess
import sys
from pathlib import Path

import pytest

from fastbpe.formats.sentencepiece.specs import OF_UNIGRAM
from fastbpe.training.codepoint_options import NAMES
from fastbpe.training.options import ByteKeywords, ByteOptions, CodePointKeywords, UnigramKeywords

ROOT = Path(__file__).resolve().parents[2]
CALLS = """
import fastbpe

fastbpe.train(["a"], vocab_size=258, special_tokens=["<s>"], ties="first", max_token_bytes=None)
fastbpe.train("a.txt", vocab_size="characters", mode="codepoint", character_coverage=1.0, byte_fallback="true")
fastbpe.train(["a"], vocab_size=258, special_tokenz=["<s>"])
fastbpe.train(["a"], vocab_size=258, min_count="2")
"""


@pytest.mark.daily
def test_mypy_refuses_misspelt_names_and_wrong_types_of_options(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    path = tmp_path / "calls.py"
    path.write_text(CALLS)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(path)]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    errors = [line.partition(": error: ")[2] for line in said.splitlines() if ": error: " in line]
    assert len(errors) == 3, said
    assert errors[0].startswith(
        'Unexpected keyword argument "special_tokenz" for overloaded function "train"; did'
    )
    assert all(error.startswith('No overload variant of "train" matches') for error in errors[1:])


def test_typed_keywords_are_the_options_of_each_mode() -> None:
    assert ByteKeywords.__annotations__.keys() == (
        ByteOptions.__dataclass_fields__.keys() - {"vocab_size"} | {"superwords"}
    )
    assert CodePointKeywords.__annotations__.keys() == NAMES
    assert UnigramKeywords.__annotations__.keys() == {*NAMES, *OF_UNIGRAM}
