"""Scripts of tokens, and a corpus's bytes in each script."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fastbpe.splitting.charset import script_of
from fastbpe.vocabularies.material import Kind, Material
from fastbpe.vocabularies.usage import Usage

PARTIAL = "part of a character"
NAMES = "names"
WITHOUT_LETTERS = ("digits", "signs", "white space")
_NO_SCRIPT = ("Common", "Inherited", "")


@dataclass(frozen=True)
class ScriptRow:
    """Tokens of a script, and its share of a corpus.

    script: str – script of most of a token's letters, such as "Latin"; for tokens without letters "digits",
        "signs" or "white space"; "part of a character"; "names" for special, added, user-defined and unknown
        tokens.
    n_tokens: int – number of the vocabulary's tokens of this script.
    bytes_per_token: float – mean length of these tokens, in bytes.
    n_ids: int – occurrences in the corpus of ids for characters of the script; 0 without a corpus.
    n_bytes: int – number of bytes of the corpus in these occurrences.
    """

    script: str
    n_tokens: int
    bytes_per_token: float
    n_ids: int = 0
    n_bytes: int = 0

    @property
    def bytes_per_id(self) -> float | None:
        """Bytes per id in the corpus; None if the corpus has no such id.

        >>> ScriptRow("Latin", 2, 3.5, n_ids=10, n_bytes=42).bytes_per_id
        4.2
        """
        return self.n_bytes / self.n_ids if self.n_ids else None


def script_of_text(text: str) -> str:
    """Return the script of most letters of a text; one of WITHOUT_LETTERS if it has no letters.

    >>> [script_of_text(text) for text in (" abc", "漢字 a", "12", "!?", "  ")]
    ['Latin', 'Han', 'digits', 'signs', 'white space']
    """
    if text.isascii():  # the way below leads to the same, more slowly
        return "Latin" if any(map(str.isalpha, text)) else _without_letters(text)
    found = Counter[str]()
    for character, n in Counter(text).items():
        found[script_of(character)] += n
    for name in _NO_SCRIPT:
        del found[name]  # a Counter ignores names that it lacks
    return max(found, key=lambda name: found[name]) if found else _without_letters(text)


def _without_letters(text: str) -> str:
    if not text.strip():
        return "white space"
    return "digits" if any(map(str.isdigit, text)) else "signs"


def script_of_token(material: Material, token_id: int) -> str:
    """Return the script of a token, with the names of `ScriptRow`."""
    kind = material.kinds[token_id]
    if kind in (Kind.NAME, Kind.UNKNOWN):
        return NAMES
    try:
        return script_of_text(material.tokens[token_id].decode())
    except UnicodeDecodeError:
        return PARTIAL


def script_rows(material: Material, usage: Usage | None) -> list[ScriptRow]:
    """Group the tokens, and the ids of a corpus, by script; the script with the most tokens comes first.

    Ids of a corpus that are parts of characters count for the script of the characters that they form together.
    """
    scripts = ["" if kind is Kind.NONE else script_of_token(material, i) for i, kind in enumerate(material.kinds)]
    n_tokens, n_bytes = Counter(scripts), Counter[str]()
    for script, token in zip(scripts, material.tokens, strict=True):
        n_bytes[script] += len(token)
    n_ids, n_corpus_bytes = Counter[str](), Counter[str]()
    if usage is not None:
        for script, n, size in _used(material, scripts, usage.whole, usage.runs):
            n_ids[script] += n
            n_corpus_bytes[script] += size
    del n_tokens[""]
    rows = [
        ScriptRow(script, n, n_bytes[script] / n if n else 0.0, n_ids[script], n_corpus_bytes[script])
        for script in {**n_tokens, **n_ids}
        for n in (n_tokens[script],)
    ]
    return sorted(rows, key=lambda row: (-row.n_tokens, row.script))


def _used(
    material: Material, scripts: list[str], whole: Mapping[int, int], runs: Mapping[tuple[int, ...], int]
) -> Iterable[tuple[str, int, int]]:
    """Yield (script, number of ids, number of their bytes in the corpus)."""
    for token_id, n in whole.items():
        yield scripts[token_id], n, n * len(material.tokens[token_id])
    for run, n in runs.items():
        data = b"".join(material.tokens[token_id] for token_id in run)
        yield script_of_text(data.decode(errors="replace")), n * len(run), n * len(data)
