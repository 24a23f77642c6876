"""Names of files with characters that steer a terminal, take two columns, or are no UTF-8."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from fastbpe.display.layout import n_columns

ESCAPE, RTL, LINES, WIDE = "\x1b[31mred", "a\u202etxt", "two\nlines", "漢字漢字"
RAW = os.fsdecode(b"raw\xff")
SCRIPT = "<script>alert(1)<"
NAMES = [ESCAPE, RTL, LINES, WIDE, RAW, SCRIPT]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse some of these names")


@pytest.fixture
def here(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        Path(f"{name}.txt").write_text("low lower\n")
        shutil.copy(model, f"{name}.fbpe")
    return tmp_path


def is_clean(text: str) -> bool:
    return not any(sign in text for sign in ("\x1b", "\u202e", "\udcff", "two\nlines"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "words",
    [
        "show -m {0}.fbpe {0}.txt",
        "count -m {0}.fbpe -m {0}.fbpe {0}.txt",
        "compare -m {0}.fbpe -m {0}.fbpe {0}.txt",
        "info {0}.fbpe",
        "verify {0}.fbpe -m {0}.fbpe",
        "encode -m {0}.fbpe {0}.txt -o {0}.bin",
        "count-pieces {0}.txt -o {0}.pieces",
        "train {0}.txt --vocab-size 258 -o {0}new.fbpe",
        "convert {0}.fbpe {0}.tiktoken",
    ],
)
def test_output_shows_every_character_of_a_name(words, name, run, here):
    done = run(*(word.format(name) for word in words.split()))
    assert done.status == 0, done.err
    assert is_clean(done.out.decode()), "UTF-8, and nothing that steers a terminal"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "words", ["show -m {0}.fbpe no{0}", "count -m {0}.fbpe no{0}", "info no{0}", "verify no{0}", "vocab -m no{0}"]
)
def test_error_is_one_line_with_every_character_visible(words, name, run, here):
    done = run(*(word.format(name) for word in words.split()))
    assert done.failed_with("no")
    assert is_clean(done.err)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("words", ["show", "count", "compare"])
def test_json_is_utf_8_and_holds_the_name(words, name, run, here):
    done = run(words, "-m", f"{name}.fbpe", f"{name}.txt", "--json")
    found = json.loads(done.out.decode())
    row = found[0] if words == "count" else found["rows"][0] if words == "compare" else found
    assert (row["model"], row["texts" if words == "compare" else "file"]) == (f"{name}.fbpe", f"{name}.txt")
    about = json.loads(run("info", f"{name}.fbpe", "--json").out.decode())
    assert about["file"] == f"{name}.fbpe"


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_plot_says_in_one_line_that_a_font_lacks_characters(ending, run, here, recwarn):
    pytest.importorskip("matplotlib")
    Path("\u13a0\U00010480\x1b.txt").write_text("low")  # Osmanya: hardly any machine has a font for it
    done = run("compare", "-m", f"{WIDE}.fbpe", "\u13a0\U00010480\x1b.txt", "--plot", f"a.{ending}")
    assert done.status == 0
    assert done.err in (
        "",
        f"fastbpe: warning: a.{ending}: the plot has characters that no installed font has; they become boxes\n",
    )
    assert [one for one in recwarn if "Glyph" in str(one.message)] == []
    assert Path(f"a.{ending}").read_bytes()[:5] in (b"\x89PNG\r", b"<?xml")


def test_columns_are_aligned_beside_wide_names(run, here):
    for words in ("count", "compare"):
        done = run(words, "-m", f"{WIDE}.fbpe", "-m", f"{ESCAPE}.fbpe", f"{WIDE}.txt", f"{ESCAPE}.txt")
        lines = done.out.decode().split("\n\n")[0].splitlines()
        ends = {n_columns(line) - (n_columns(line.split()[-1]) if words == "count" else 0) for line in lines[1:]}
        assert len(ends) == 1, lines
