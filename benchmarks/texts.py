"""Texts of the comparisons: corpora in the folder named by FASTBPE_DATA, the standard library, any file."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

DATA = Path(os.environ.get("FASTBPE_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))

# Name → file of the corpus, and the number of bytes read by default.
_CORPORA = {"english": ("english.txt", 20_000_000), "multilingual": ("multilingual.txt", 10_000_000)}
NAMES = (*_CORPORA, "code")
ALL = sys.maxsize


def read(name_or_path: str, n_bytes: int | None = None) -> str:
    """Return the beginning of a text.

    Args:
        name_or_path: a name of NAMES or the path of a UTF-8 file; several joined by "+" follow one another.
        n_bytes: number of bytes to read of each; by default 20 MB of english and code, 10 MB of multilingual, all
            of a file.
    """
    if "+" in name_or_path and not Path(name_or_path).exists():
        return "".join(read(name, n_bytes) for name in name_or_path.split("+"))
    if name_or_path == "code":
        return standard_library(n_bytes or 20_000_000)
    file, usual = _CORPORA.get(name_or_path, (None, None))
    path = DATA / "corpus" / file if file else Path(name_or_path)
    if not path.exists():
        raise SystemExit(
            f"{path}: no such file; --text is one of {', '.join(NAMES)}, found in the folder that FASTBPE_DATA "
            "names, or the path of a UTF-8 file"
        )
    with open(path, "rb") as opened:  # read(ALL) would raise OverflowError, hence the file's size
        return opened.read(min(n_bytes or usual or ALL, path.stat().st_size)).decode(errors="ignore")


def standard_library(n_bytes: int) -> str:
    """Return the sources of the running Python, up to n_bytes."""
    sources = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("**/*.py"))
    code = b"".join(path.read_bytes() for path in sources if "site-packages" not in path.parts)
    return code[:n_bytes].decode(errors="ignore")


def fresh(text: str) -> str:
    """Return a new str with the same characters, without the UTF-8 that a peer may have cached in the old one."""
    return text.encode().decode()


def cut(text: str, n_bytes: int) -> list[str]:
    """Cut a text into parts of n_bytes of UTF-8 on average, between any two characters."""
    n_characters = max(1, n_bytes * len(text) // max(1, len(text.encode())))
    return [text[at : at + n_characters] for at in range(0, len(text), n_characters)]
