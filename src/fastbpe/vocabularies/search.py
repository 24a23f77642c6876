"""Search for tokens of a vocabulary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastbpe._utils.choices import DocumentFormat
from fastbpe._utils.progress import Progress, Reporter
from fastbpe._utils.suggestions import choose_one_of
from fastbpe.corpus.corpora import Corpus, Source
from fastbpe.vocabularies.material import Described, Kind, material_of
from fastbpe.vocabularies.script_costs import script_of_token
from fastbpe.vocabularies.usage import count_ids

_ORDERS = ("id", "longest", "rarest")


@dataclass(frozen=True)
class Found:
    """Token that a search found.

    id: int – its id.
    token: bytes – its bytes, as they appear in a text.
    kind: str – "text", or "name", "byte", "unknown", "unused" (see `material.Kind`).
    script: str – script of most of its letters, as in a `ScriptRow`.
    count: int or None – its occurrences in the corpus; None: there is no corpus.
    """

    id: int
    token: bytes
    kind: str
    script: str
    count: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return a plain dict; bytes that are not a character become escapes.

        >>> Found(97, b"a", "text", "Latin").to_dict()
        {'id': 97, 'text': 'a', 'n_bytes': 1, 'kind': 'text', 'script': 'Latin'}
        """
        found = {"id": self.id, "text": self.token.decode(errors="backslashreplace"), "n_bytes": len(self.token)}
        count = {} if self.count is None else {"count": self.count}
        return {**found, "kind": self.kind, "script": self.script, **count}


def search_tokens(
    tokenizer: Described,
    *,
    text: str | None = None,
    regex: str | None = None,
    ids: Iterable[range] = (),
    length: range | None = None,
    script: str | None = None,
    corpus: Source | None = None,
    order: str = "id",
    separator: str | None = None,
    text_field: str = "text",
    format: DocumentFormat | None = None,
    progress: Progress = None,
) -> list[Found]:
    """List the tokens that meet all conditions.

    Args:
        tokenizer: the tokenizer.
        text: str or None – text that the tokens contain.
        regex: pattern of Python's `re` that matches in them; a byte of an incomplete character counts as a
            character from U+DC80 on, as with Python's "surrogateescape".
        ids: ranges of ids; (): all ids.
        length: range of lengths in bytes; None: any length.
        script: name as in a `ScriptRow`; case is ignored.
        corpus: texts in which to count the tokens, as for `vocabulary_report`.
        order: "id"; "longest" first; or "rarest" in the corpus first. Among equals, low ids come first.
        separator, text_field, format, progress: as for `vocabulary_report`.

    Raises:
        ValueError: the regex is invalid; no token has the script; the order is unknown, or needs a corpus.
        TypeError: tokenizer is not a Tokenizer.
        FileNotFoundError, FormatError, TypeError, ValueError: the corpus cannot be read, as in `train`.

    >>> import fastbpe
    >>> tokenizer = fastbpe.Tokenizer.from_merges([(97, 98), (256, 99)], pattern=None)
    >>> [found.token for found in search_tokens(tokenizer, text="b", order="longest")]
    [b'abc', b'ab', b'b']
    """
    try:
        pattern = None if regex is None else re.compile(regex)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"regex {regex!r:.60}: {error}") from None
    if order not in _ORDERS:
        raise ValueError(choose_one_of("order", order, _ORDERS))
    if order == "rarest" and corpus is None:
        raise ValueError("order='rarest' counts the tokens in a corpus; pass corpus=")
    material = material_of(tokenizer)
    counts = None
    opened = Corpus.given(corpus, separator=separator, text_field=text_field, format=format)
    if opened is not None:
        counts = count_ids(tokenizer, material, opened, Reporter(progress)).counts(len(material.tokens))
    data = None if text is None else text.encode(errors="surrogateescape")
    ranges = [*ids]
    scripts: set[str] = set()
    found = []
    for i, (kind, token) in enumerate(zip(material.kinds, material.tokens, strict=True)):
        if kind is Kind.NONE:
            continue
        name = script_of_token(material, i)
        scripts.add(name)
        if (
            (not ranges or any(i in each for each in ranges))
            and (length is None or len(token) in length)
            and (data is None or data in token)
            and (pattern is None or pattern.search(token.decode(errors="surrogateescape")))
            and (script is None or script.casefold() == name.casefold())
        ):
            found.append(Found(i, token, kind.value, name, None if counts is None else counts[i]))
    if script is not None and script.casefold() not in map(str.casefold, scripts):
        raise ValueError(
            f"no token has the script {script!r}; the scripts of the vocabulary are {', '.join(sorted(scripts))}"
        )
    if order == "longest":
        found.sort(key=lambda each: (-len(each.token), each.id))
    elif order == "rarest":
        found.sort(key=lambda each: (each.count or 0, each.id))
    return found


def scripts_of(found: Sequence[Found]) -> Mapping[str, int]:
    """Count tokens by script, the most frequent script first."""
    counted: dict[str, int] = {}
    for each in found:
        counted[each.script] = counted.get(each.script, 0) + 1
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))
