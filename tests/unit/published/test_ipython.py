"""Completion in IPython: names of vocabularies in `fastbpe.load("`, and of patterns in `fastbpe.PATTERNS["`."""

from __future__ import annotations

import json

import pytest

from helpers.child_processes import run_python

PROGRAM = """
import json, os, sys, warnings
warnings.simplefilter("ignore")
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("import fastbpe, json; import fastbpe as fb; from fastbpe import load")
os.chdir(sys.argv[1])
found = {line: shell.complete(None, line, len(line))[1] for line in sys.argv[2:]}
print(json.dumps(found))
"""
CASES = {
    'fastbpe.load("gpt-4': ["gpt-4", "gpt-4.1", "gpt-4o"],
    "t = fb.load('o200k": ["o200k_base", "o200k_harmony"],
    "[load('cl100": ["cl100k_base"],
    "fastbpe.load('my": ["my.fbpe"],
    "fastbpe.load('folder/a": ["folder/a.tiktoken"],
    "fastbpe.PATTERNS['cl": ["cl100k"],
}


def test_ipython_completes_names_files_and_patterns(tmp_path) -> None:
    pytest.importorskip("IPython")
    (tmp_path / "folder").mkdir()
    for name in ("my.fbpe", "my.docx", "folder/a.tiktoken"):
        (tmp_path / name).touch()
    foreign = "json.load('gpt-4"
    found = json.loads(run_python(PROGRAM, str(tmp_path), *CASES, foreign).splitlines()[-1])
    for line, names in CASES.items():
        assert sorted(found[line]) == names, line
    assert "gpt-4o" not in found[foreign]


def test_import_without_ipython_loads_no_completion() -> None:
    said = run_python("import sys, fastbpe; print('fastbpe.published.ipython' in sys.modules)")
    assert said.split() == ["False"]
