"""Exports of every named pattern, loaded by newer libraries: tokenizers 1.0 (a candidate) and gigatoken.

Both know a split pattern by its exact text only. They are installed in an environment of their own, since the
other tests need tokenizers 0.23: FASTBPE_PEER_PYTHON names its Python, and FASTBPE_FULL=1 makes one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.peer_exports import NAMES, TEXTS, exported, some_texts
from helpers.sampling import FULL

REQUIREMENTS = ["tokenizers==1.0.0rc3", "gigatoken==0.10.0"]
# Patterns that a library does not know, and refuses. tokenizers 1.0 knows StarCoder's by its step Digits, whose
# characters are those of a later Unicode; with Split it is exact.
UNKNOWN = {
    "tokenizers": {
        "qwen35", "deepseek-llm", "deepseek-coder", "falcon", "bloom", "viking", "bailingmoe", "seed-coder",
        "ufakzeka", "minicpm5", "jais-2", "youtu", "tiny_aya", "exaone-moe", "laguna", "chameleon", "starcoder",
        "superbpe", "superbpe_words", "superbpe_lines", "afmoe", "spark2_5",
    },
    "gigatoken": {
        "kimi", "deepseek-llm", "deepseek-coder", "starcoder", "falcon", "bloom", "viking", "bailingmoe",
        "seed-coder", "ufakzeka", "minicpm5", "jais-2", "youtu", "tiny_aya", "exaone-moe", "laguna", "chameleon",
        "superbpe", "superbpe_words", "superbpe_lines", "afmoe", "spark2_5",
    },
}  # fmt: skip
SCRIPT = """
import json, sys
library, folder = sys.argv[1:]
results = {}
for name, texts in json.load(open(folder + "/texts.json", encoding="utf-8")).items():
    path = f"{folder}/{name}.json"
    try:
        if library == "tokenizers":
            from tokenizers import Tokenizer
            encode = lambda text, made=Tokenizer.from_file(path): list(made.encode(text).ids)
        else:
            from gigatoken import Tokenizer
            with open(path, encoding="utf-8") as file:
                made = Tokenizer.from_json(file.read())
            encode = lambda text, made=made: [int(i) for i in made.backend.encode(text)]
        results[name] = [encode(text) for text in texts]
    except (ValueError, RuntimeError) as error:
        results[name] = str(error)[:200]
json.dump(results, sys.stdout)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment with the libraries."""
    if named := os.environ.get("FASTBPE_PEER_PYTHON"):
        return Path(named)
    if not FULL:
        pytest.skip("needs an environment of its own: set FASTBPE_PEER_PYTHON or FASTBPE_FULL=1")
    folder = tmp_path_factory.mktemp("peers")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    done = subprocess.run(
        [python, "-m", "pip", "install", "-q", "--pre", *REQUIREMENTS], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"pip cannot install {' and '.join(REQUIREMENTS)}: {done.stderr[-300:]}")
    return python


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Export each named pattern; return the folder, and the ids of the texts by name."""
    folder = tmp_path_factory.mktemp("exports")
    texts, ids = {}, {}
    for name in NAMES:
        tokenizer = exported(name, folder / f"{name}.json")
        texts[name] = [text for text in [*TEXTS, *some_texts(name, 300)] if text]
        ids[name] = [tokenizer.encode_ordinary(text) for text in texts[name]]
    (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    return folder, ids


@pytest.mark.parametrize("library", UNKNOWN)
def test_export_of_every_known_pattern_gives_equal_ids(
    library: str, python: Path, exports: tuple[Path, dict[str, Any]]
) -> None:
    folder, ids = exports
    done = subprocess.run(
        [python, "-c", SCRIPT, library, folder], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    found = json.loads(done.stdout)
    refused = {name: told for name, told in found.items() if isinstance(told, str)}
    assert refused.keys() == UNKNOWN[library], refused
    texts = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
    for name in ids.keys() - refused.keys():
        for text, expected, got in zip(texts[name], ids[name], found[name], strict=True):
            assert got == expected, (library, name, text)
