"""Programs that PyInstaller builds from fastbpe run where neither Python nor fastbpe is installed.

Skipped without PyInstaller.
"""

from __future__ import annotations

import os
import subprocess
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest

import fastbpe

pytest.importorskip("PyInstaller")

#: Distributions that the builds see: with those that fastbpe serves they would take minutes.
SEEN = ("altgraph", "fastbpe-tokenizer", "packaging", "pyinstaller", "pyinstaller-hooks-contrib", "regex", "tqdm")
CORE = """
import fastbpe
tokenizer = fastbpe.train(["low lower lowest"] * 9, vocab_size=260, progress=False)
assert tokenizer.decode(tokenizer.encode("low lower")) == "low lower"
tokenizer.export("tokenizer.json")
print(tokenizer.encode("lowest"), fastbpe.load("tokenizer.json").encode("lowest"))
"""
#: Faces, files of data (the normalization rules), and modules that are imported by name.
FACES = """
import io
import fastbpe
import fastbpe.sentencepiece as spm
model = io.BytesIO()
lines = ["low lower lowest", "\\uff4cow \\ufb01"]
spm.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, model_type="bpe", vocab_size=16)
processor = spm.SentencePieceProcessor(model_proto=model.getvalue())
ranks = {bytes([byte]): byte for byte in range(256)} | {b"lo": 256}
encoding = fastbpe.tiktoken.Encoding("mine", pat_str=r"\\w+|\\W+", mergeable_ranks=ranks, special_tokens={})
fastbpe.train(["low lower"], vocab_size=257, progress=False).export("tokenizer.json")
face = fastbpe.tokenizers.Tokenizer.from_file("tokenizer.json")
fastbpe.install("tiktoken")
import tiktoken
print(processor.encode("low", out_type=str), encoding.encode("low"), face.encode("lo").ids)
print(tiktoken.Encoding is fastbpe.tiktoken.Encoding)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an environment with only PyInstaller and fastbpe, by links to the packages that are installed here."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in SEEN:
        found = distribution(name)
        assert found.files is not None
        for top in {file.parts[0] for file in found.files} - {"..", "__pycache__"}:
            if found.locate_file(top).is_dir():
                (packages / top).symlink_to(found.locate_file(top))
    if not (packages / "fastbpe").exists():  # fastbpe is installed editable
        (packages / "fastbpe").symlink_to(Path(fastbpe.__file__).parent)
    return folder / "bin/python"


@pytest.mark.daily
@pytest.mark.parametrize(
    ("program", "printed"),
    [
        (CORE, "[257, 101, 115, 116] [257, 101, 115, 116]\n"),
        (FACES, "['\u2581low'] [256, 119] [256]\nTrue\n"),
    ],
    ids=["core", "faces"],
)
def test_program_runs_where_fastbpe_is_not_installed(
    program: str, printed: str, python: Path, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    built = subprocess.run(
        [python, "-m", "PyInstaller", "--log-level=WARN", "program.py"],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    run = subprocess.run(
        [tmp_path / "dist/program/program"],
        cwd=tmp_path,
        env={"PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert run.stdout == printed, run.stderr + built.stderr
