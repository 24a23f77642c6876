"""Measurements for `fastbpe compare`: counts per group of texts, and the places where two tokenizers differ."""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.cli.shared_flags import Named
from fastbpe.corpus.compression import PACKINGS
from fastbpe.corpus.source_kinds import Document
from fastbpe.display.shown_tokens import is_superword, sizes_of
from fastbpe.errors import CheckError
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.vocabularies.judging import renyi_efficiency
from fastbpe.vocabularies.script_costs import WITHOUT_LETTERS, script_of_text

_AROUND = 3  # tokens shown on each side of a difference
_BATCH = 4096  # texts counted at a time


class Text(NamedTuple):
    """A text on which tokenizers are compared.

    group: str – name of its group; the table has a row for each group and tokenizer.
    where: str – its file and, where needed, the numbers of the document and of the line in it.
    text: str or bytes – the text.
    """

    group: str
    where: str
    text: Document


class Counts:
    """Sizes and token counts of the texts of one group.

    Attributes:
        n_texts, n_bytes, n_characters, n_lines: int – sizes.
        n_tokens: list of int – number of tokens of all texts, for each tokenizer.
        ids: list of Counter – occurrences of each id, for each tokenizer; empty unless requested.
    """

    def __init__(self, n_tokenizers: int) -> None:
        self.n_texts = self.n_bytes = self.n_characters = self.n_lines = 0
        self.n_tokens = [0] * n_tokenizers
        self.ids: list[Counter[int]] = [Counter() for _ in range(n_tokenizers)]

    def add(self, other: Counts) -> None:
        """Add the counts of another group."""
        self.n_texts += other.n_texts
        self.n_bytes += other.n_bytes
        self.n_characters += other.n_characters
        self.n_lines += other.n_lines
        for mine, others in zip(self.ids, other.ids, strict=True):
            mine.update(others)
        self.n_tokens = [a + b for a, b in zip(self.n_tokens, other.n_tokens, strict=True)]

    def rows(self, models: Sequence[str]) -> list[dict[str, Any]]:
        """Return a row for each tokenizer: its counts, and its cost, a multiple of the fewest tokens of any."""
        best = min(self.n_tokens)
        return [
            {
                "model": model,
                "n_texts": self.n_texts,
                "n_characters": self.n_characters,
                "n_bytes": self.n_bytes,
                "n_tokens": n,
                "bytes_per_token": round(self.n_bytes / n, 4) if n else None,
                "characters_per_token": round(self.n_characters / n, 4) if n else None,
                "cost": round(n / best, 4) if best else None,
            }
            for model, n in zip(models, self.n_tokens, strict=True)
        ]


class Judged(NamedTuple):
    """Facts about a tokenizer that are needed to judge its tokens on texts.

    vocab_size: int – number of tokens.
    ordinary: ids of the tokens that are not special or added.
    superwords: ids of the tokens that span several words.
    """

    vocab_size: int
    ordinary: frozenset[int]
    superwords: frozenset[int]

    def row(self, ids: Counter[int]) -> dict[str, Any]:
        """Return the measures for a group of texts.

        ids: occurrences of each id in the texts.
        """
        total = sum(ids.values())
        share = sum(ids[token_id] for token_id in self.superwords) / total if total else None
        efficiency = renyi_efficiency(ids.values(), self.vocab_size)
        return {
            "superword_share": None if share is None else round(share, 4),
            "renyi_efficiency": None if efficiency is None else round(efficiency, 4),
            "n_unused": len(self.ordinary.difference(ids)),
        }


def judged(tokenizer: Tokenizer) -> Judged:
    """Return the facts that are needed to judge the tokens of a tokenizer."""
    named_ids = {*tokenizer.special_tokens.values(), *(token.id for token in tokenizer.added_tokens)}
    ordinary = {i: token for i, token in enumerate(tokenizer.vocab) if token and i not in named_ids}
    superwords = frozenset(i for i, token in ordinary.items() if is_superword(token))
    return Judged(tokenizer.vocab_size, frozenset(ordinary), superwords)


def costs_per_line(groups: Mapping[str, Counts]) -> dict[str, list[float]]:
    """Return the tokens per line of each group of parallel texts, by tokenizer.

    Raises:
        CheckError: the groups have different numbers of lines, or no lines.
    """
    lines = {group: counts.n_lines for group, counts in groups.items()}
    if len({*lines.values()}) > 1 or 0 in lines.values():
        said = ", ".join(f"{group} has {n:,}" for group, n in lines.items())
        raise CheckError(f"--parallel needs texts with the same number of lines, at least one, but {said}")
    return {group: [n / counts.n_lines for n in counts.n_tokens] for group, counts in groups.items()}


class Difference(NamedTuple):
    """First place where two tokenizers differ in a text.

    where: str – the text, as in `Text`.
    line, column: int – the place in the text; both count from 1, the column in characters.
    pieces: for each tokenizer, its tokens around the place, as text.
    ids: for each tokenizer, the ids of these tokens.
    """

    where: str
    line: int
    column: int
    pieces: tuple[list[str], list[str]]
    ids: tuple[list[int], list[int]]


class Differences:
    """Differences between two tokenizers over many texts.

    Args:
        first, second: the tokenizers.
        by_ids: compare ids; False: compare the places where tokens end.

    Attributes:
        n_texts, n_differing: int – number of compared texts (lines, unless by_ids), and number of texts or lines
            that differ.
        found: Difference or None – the first difference.
    """

    def __init__(self, first: Tokenizer, second: Tokenizer, *, by_ids: bool) -> None:
        self._pair, self._by_ids = (first, second), by_ids
        self.n_texts = self.n_differing = 0
        self.found: Difference | None = None

    @property
    def state(self) -> tuple[int, int, Difference | None]:
        """Findings so far. Assigning earlier findings discards the texts since then."""
        return self.n_texts, self.n_differing, self.found

    @state.setter
    def state(self, before: tuple[int, int, Difference | None]) -> None:
        self.n_texts, self.n_differing, self.found = before

    def look(self, text: Text) -> bool:
        """Compare the tokens of a text, or of each of its lines if not by_ids. Returns whether any differ."""
        if self._by_ids:
            ids = [tokenizer.encode_ordinary(text.text) for tokenizer in self._pair]
            self.n_texts += 1
            return ids[0] != ids[1] and self._differ(text.where, 1, text.text)
        # Only "\n" ends a line, as in `_n_lines`.
        lines = io.StringIO(text.text if isinstance(text.text, str) else text.text.decode(), newline="\n")
        differing = [self._differ(text.where, number, line) for number, line in enumerate(lines, 1)]
        self.n_texts += len(differing)
        return any(differing)

    def _differ(self, where: str, first_line: int, text: Document) -> bool:
        both = [tokenizer.encode_with_offsets(text, disallowed_special=()) for tokenizer in self._pair]
        keys: list[Any] = [ids if self._by_ids else spans for ids, spans in both]
        if keys[0] == keys[1]:
            return False
        self.n_differing += 1
        if self.found is None:
            n_common = min(map(len, keys))
            index = next((i for i in range(n_common) if keys[0][i] != keys[1][i]), n_common)
            self.found = self._describe(where, first_line, text, both, index)
        return True

    def _describe(self, where: str, first_line: int, text: Document, both: list[Any], index: int) -> Difference:
        """Describe the difference at the token `index`. both: ids and spans from each tokenizer."""
        characters = text if isinstance(text, str) else text.decode()
        start = min((spans[index][0] for _, spans in both if index < len(spans)), default=len(characters))
        first = max(0, index - _AROUND)
        ids = [ids[first : index + _AROUND] for ids, _ in both]
        pieces = [
            [tokenizer.id_to_token(token_id).decode(errors="backslashreplace") for token_id in chosen]
            for tokenizer, chosen in zip(self._pair, ids, strict=True)
        ]
        line = characters.count("\n", 0, start) + first_line
        column = start - (characters.rfind("\n", 0, start) + 1) + 1
        return Difference(where, line, column, (pieces[0], pieces[1]), (ids[0], ids[1]))


def count(
    texts: Iterator[Text],
    models: Sequence[Named],
    seen: Callable[[Text], object],
    groups: dict[str, Counts],
    *,
    with_ids: bool = False,
) -> None:
    """Count the tokens of texts by group, in the order in which groups first occur.

    Args:
        texts: the texts.
        models: the tokenizers.
        seen: function that is called with each text.
        groups: counts by group. The function adds to them after it has read all texts. If it cannot read a text,
            they do not change.
        with_ids: also count the occurrences of each id.
    """
    found: dict[str, Counts] = {}
    batch: list[Text] = []
    for text in texts:
        batch.append(text)
        seen(text)
        if len(batch) == _BATCH:
            _count_batch(found, batch, models, with_ids=with_ids)
            batch = []
    _count_batch(found, batch, models, with_ids=with_ids)
    for group, counts in found.items():
        groups.setdefault(group, Counts(len(models))).add(counts)


def _count_batch(groups: dict[str, Counts], batch: list[Text], models: Sequence[Named], *, with_ids: bool) -> None:
    for number, model in enumerate(models):
        for text in batch:
            counts = groups.setdefault(text.group, Counts(len(models)))
            if with_ids:
                ids = model.tokenizer.encode_ordinary(text.text)
                counts.ids[number].update(ids)
                counts.n_tokens[number] += len(ids)
            else:
                counts.n_tokens[number] += model.tokenizer.count(text.text)
    for text in batch:
        counts = groups[text.group]
        n_characters, n_bytes = sizes_of(text.text)
        counts.n_texts += 1
        counts.n_bytes += n_bytes
        counts.n_characters += n_characters
        counts.n_lines += _n_lines(text.text)


def _n_lines(text: Document) -> int:
    """Count the lines of a text; the last one may lack a line ending.

    >>> _n_lines("a\\nb"), _n_lines(b"a\\n"), _n_lines("")
    (2, 1, 0)
    """
    if isinstance(text, str):
        return text.count("\n") + (not text.endswith("\n") and bool(text))
    return text.count(b"\n") + (not text.endswith(b"\n") and bool(text))


def ending_of(name: str) -> str:
    """Return the extension of a file's name in lower case; .gz, .zst and the like are ignored.

    >>> ending_of("a/b.TXT.gz"), ending_of("b.jsonl.zstd"), ending_of("Makefile")
    ('.txt', '.jsonl', '(none)')
    """
    path = Path(name.lower())
    if path.suffix in PACKINGS:
        path = path.with_suffix("")
    return path.suffix or "(none)"


def folder_of(name: str) -> str:
    """Return the folder of a file.

    >>> folder_of("texts/french/a.txt"), folder_of("a.txt")
    ('texts/french', '.')
    """
    return os.path.dirname(name) or "."


def script_of(text: str) -> str:
    """Return the script of most letters of a text; "Common" if it has no letters.

    >>> script_of("abc 漢"), script_of("12 + 3")
    ('Latin', 'Common')
    """
    script = script_of_text(text)
    return "Common" if script in WITHOUT_LETTERS else script
