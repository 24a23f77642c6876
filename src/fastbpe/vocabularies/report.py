"""vocabulary_report: tokens that no text produces, that a corpus never uses, or that look alike, and costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from fastbpe._utils.choices import DocumentFormat
from fastbpe._utils.plurals import counted
from fastbpe._utils.progress import Progress, Reporter
from fastbpe._utils.short_reprs import fields_repr, html_table
from fastbpe.corpus.corpora import Corpus, Source
from fastbpe.vocabularies.forms import (
    Digits,
    Indentation,
    describe_digits,
    describe_indentation,
    group_forms,
    shown_lengths,
)
from fastbpe.vocabularies.material import Described, Kind, Material, material_of, shown_token, surface_of
from fastbpe.vocabularies.merge_tree import merged
from fastbpe.vocabularies.reach import judge
from fastbpe.vocabularies.script_costs import ScriptRow, script_rows
from fastbpe.vocabularies.usage import Usage, count_ids, partial_tokens

_N_SHOWN = 10  # tokens of a kind that the table shows
_N_SCRIPTS = 12  # scripts that the table shows
_MAX_COUNTED_DIGITS = 6  # the table does not count longer numbers that are tokens


@dataclass(frozen=True)
class CorpusUse:
    """Use of the tokens in a corpus. Special tokens in its texts count as plain text.

    Attributes:
        n_bytes, n_ids: int – size of the corpus: bytes of UTF-8, ids.
        counts: list of int – occurrences of each id.
        unused: ids of the tokens that some text can produce but the corpus never does, without names and the bytes
            or characters with which merging begins. First the tokens that are not part of a longer token in use,
            then the parts; within each group, low ids first. Tokens with low ids were learned early, so they were
            frequent in the text from which the vocabulary was learned; but a model trained on this corpus never
            sees them.
        parts: the tokens of `unused` from which merging makes a token in use.
    """

    n_bytes: int
    n_ids: int
    counts: Sequence[int]
    unused: Sequence[int]
    parts: frozenset[int]

    __repr__ = fields_repr


@dataclass(frozen=True)
class VocabularyReport:
    r"""Findings about a vocabulary. `print` shows them as tables.

    >>> import fastbpe
    >>> ranks = {bytes([i]): i for i in range(256)} | {b"ab": 256, b"a1": 257}
    >>> tokenizer = fastbpe.Tokenizer.from_ranks(ranks, pattern="gpt2")
    >>> report = fastbpe.vocabulary_report(tokenizer)
    >>> report.impossible[257], report.witnesses[256]
    ('the split pattern cuts it', 'ab')

    Attributes:
        name: str or None – name of the vocabulary.
        mode: "byte", "codepoint" or "character".
        tokens: list of bytes – token of each id, as it appears in a text; b"" for ids without a token.
        names: ids of special tokens, added tokens and user-defined symbols.
        witnesses: mapping – id → a text whose ids contain it, if special tokens are allowed.
        impossible: mapping – id → the proof that no text can produce it.
        undecided: ids without a text or proof. Empty for all published vocabularies with which fastbpe is tested.
        partial: ids whose token contains a part of a character.
        forms: mapping – "case", "space" (at the start) and "normalization" (NFKC) → groups of ids of tokens that
            differ only in this.
        digits: how numbers are split, and which numbers are tokens.
        indentation: runs of white space that are tokens, and the cost of indentation.
        scripts: tokens by script, and bytes per id in the corpus.
        corpus: use in the corpus; None: there is no corpus.
    """

    name: str | None
    mode: str
    tokens: Sequence[bytes]
    names: Sequence[int]
    witnesses: Mapping[int, str]
    impossible: Mapping[int, str]
    undecided: Sequence[int]
    partial: Sequence[int]
    forms: Mapping[str, Sequence[Sequence[int]]]
    digits: Digits
    indentation: Indentation
    scripts: Sequence[ScriptRow]
    corpus: CorpusUse | None = None

    def to_dict(self) -> dict[str, Any]:
        r"""Return plain dicts and lists, as for JSON. Leaves out witnesses and counts of 0.

        >>> import fastbpe
        >>> tokenizer = fastbpe.Tokenizer.from_merges([(97, 98)], pattern=None)
        >>> fastbpe.vocabulary_report(tokenizer).to_dict()["impossible"][0]
        {'id': 192, 'text': '\\xc0', 'reason': 'no text has its bytes'}
        """
        found: dict[str, Any] = {
            "name": self.name,
            "mode": self.mode,
            "n_tokens": self._n_tokens,
            "n_names": len(self.names),
            "n_with_witness": len(self.witnesses),
            "impossible": [{**self._token(i), "reason": reason} for i, reason in self.impossible.items()],
            "undecided": [self._token(i) for i in self.undecided],
            "partial": [self._token(i) for i in self.partial],
            "forms": {
                kind: [[self._token(i) for i in group] for group in groups] for kind, groups in self.forms.items()
            },
            "digits": {"n_tokens": {**self.digits.n_tokens}, "groups": {**self.digits.groups}},
            "indentation": {"runs": {**self.indentation.runs}, "cost": {**self.indentation.cost}},
            "scripts": [{**vars(row), "bytes_per_id": row.bytes_per_id} for row in self.scripts],
            "corpus": None,
        }
        if self.corpus is not None:
            use = self.corpus
            found["corpus"] = {
                "n_bytes": use.n_bytes,
                "n_ids": use.n_ids,
                "counts": {i: n for i, n in enumerate(use.counts) if n},
                "unused": [{**self._token(i), "is_part": i in use.parts} for i in use.unused],
            }
        return found

    def table(self) -> str:
        """Return the findings as tables of text.

        >>> import fastbpe
        >>> tokenizer = fastbpe.Tokenizer.from_merges([(97, 98)], pattern=None)
        >>> fastbpe.vocabulary_report(tokenizer).table().splitlines()[0].split(maxsplit=1)
        ['tokens', '257 (0 special or added)']
        """
        rows = self._rows()
        width = max(len(label) for label, _ in rows)
        lines = [f"{label:{width}}  {value}".rstrip() for label, value in rows]
        return "\n".join([*lines, "", *self._scripts()])

    __str__ = table

    def __repr__(self) -> str:
        use = "" if self.corpus is None else f", corpus of {self.corpus.n_bytes:,} bytes"
        return (
            f"<fastbpe.VocabularyReport of {self.name or 'a vocabulary'}, {self.mode} mode, {self._n_tokens:,} "
            f"tokens: some text produces {len(self.witnesses):,}, no text {len(self.impossible):,}, undecided "
            f"{len(self.undecided):,}{use}>"
        )

    def _repr_html_(self) -> str:
        head, *rows = self._script_cells()
        return html_table(self._rows()) + html_table(rows, head)

    def _rows(self) -> list[tuple[str, str]]:
        return [row for rows in (self._reach(), self._use(), self._looks()) for row in rows]

    @property
    def _n_tokens(self) -> int:
        return len(self.witnesses) + len(self.impossible) + len(self.undecided)

    def _token(self, token_id: int) -> dict[str, Any]:
        return {"id": token_id, "text": self.tokens[token_id].decode(errors="backslashreplace")}

    def _some(self, ids: Iterable[int]) -> str:
        return ", ".join(f"{shown_token(self.tokens[i])} {i}" for i in islice(ids, _N_SHOWN))

    def _number_and_some(self, ids: Sequence[int]) -> str:
        return f"{len(ids):,}" + (f": {self._some(ids)}" if ids else "")

    def _reach(self) -> Iterator[tuple[str, str]]:
        yield "tokens", f"{self._n_tokens:,} ({len(self.names):,} special or added)"
        yield "some text produces", f"{len(self.witnesses):,}"
        yield "no text produces", f"{len(self.impossible):,}"
        for reason in dict.fromkeys(self.impossible.values()):
            ids = [i for i, found in self.impossible.items() if found == reason]
            yield f"  {reason}", self._number_and_some(ids)
        yield "undecided", self._number_and_some(self.undecided)

    def _use(self) -> Iterator[tuple[str, str]]:
        use = self.corpus
        if use is None:
            return
        yield "corpus", f"{use.n_bytes:,} bytes, {use.n_ids:,} ids"
        yield "bytes per id", f"{use.n_bytes / use.n_ids:.2f}" if use.n_ids else "none"
        whole = [i for i in use.unused if i not in use.parts]
        yield "never used", self._number_and_some(whole)
        yield "  only in longer tokens", f"{len(use.parts):,}"

    def _looks(self) -> Iterator[tuple[str, str]]:
        yield "parts of characters", f"{len(self.partial):,}"
        for kind, groups in self.forms.items():
            largest = max(groups, key=len, default=())
            shown = f", the largest {self._some(largest)}" if largest else ""
            yield f"differ by {kind} only", f"{counted(len(groups), 'group')}{shown}"
        sizes = [
            f"{n:,} of {10**size:,}" for size, n in self.digits.n_tokens.items() if size <= _MAX_COUNTED_DIGITS
        ]
        yield "numbers that are tokens", ", ".join(sizes) or "none"
        yield "  digits are split", _shown_groups(self.digits.groups)
        for name, lengths in self.indentation.runs.items():
            yield f"{name} in one token", shown_lengths(lengths)
        cost = self.indentation.cost
        yield "indentation costs", ", ".join(f"{n} spaces: {k}" for n, k in cost.items()) + " more ids"

    def _script_cells(self) -> Iterator[tuple[str, ...]]:
        """Yield the header and the rows of the table of scripts."""
        with_corpus = self.corpus is not None
        yield ("script", "tokens", "bytes each", *(("ids", "bytes per id") if with_corpus else ()))
        for row in self.scripts[:_N_SCRIPTS]:
            ratio = "" if row.bytes_per_id is None else f"{row.bytes_per_id:.2f}"
            use = (f"{row.n_ids:,}", ratio) if with_corpus else ()
            yield (row.script, f"{row.n_tokens:,}", f"{row.bytes_per_token:.2f}", *use)

    def _scripts(self) -> Iterator[str]:
        widths = (22, 9, 11, 11, 12)
        for first, *others in self._script_cells():
            cells = (f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=False))
            yield " ".join([f"{first:{widths[0]}}", *cells]).rstrip()
        if len(self.scripts) > _N_SCRIPTS:
            yield f"and {len(self.scripts) - _N_SCRIPTS} more"


def vocabulary_report(
    tokenizer: Described,
    corpus: Source | None = None,
    *,
    separator: str | None = None,
    text_field: str = "text",
    format: DocumentFormat | None = None,
    progress: Progress = None,
) -> VocabularyReport:
    """Examine a vocabulary: tokens that no text can produce, that a corpus never uses, or that look alike.

    A token counts as possible only if an encoded text contains it, and as impossible only with a proof;
    docs/know-a-vocabulary.md states the proofs.

    Args:
        tokenizer: a tokenizer of any mode.
        corpus: texts to count tokens in: a path, folder or pattern, a list of paths, or an iterable of str or
            bytes, as for `train`. None: nothing is counted.
        separator, text_field, format: options for reading the corpus, as for `train`.
        progress: bool, function or None – as for `train`; the one phase is "counting".

    Raises:
        TypeError: tokenizer is not a Tokenizer.
        FileNotFoundError, FormatError, TypeError, ValueError: the corpus cannot be read, as in `train`.
        OptionError (a ValueError): an option for reading has no effect.

    >>> import fastbpe
    >>> tokenizer = fastbpe.train(["low lower lowest"] * 3, vocab_size=260, pattern="gpt2", progress=False)
    >>> report = fastbpe.vocabulary_report(tokenizer, ["low"])
    >>> [report.tokens[i] for i in report.corpus.unused if i not in report.corpus.parts]
    [b' low', b' lowe']
    """
    material = material_of(tokenizer)
    shown = material  # tokens as they occur in a text
    if material.symbols_of is not None:
        shown = replace(material, tokens=_surfaces(tokenizer, material))
    opened = Corpus.given(corpus, separator=separator, text_field=text_field, format=format)
    usage = None if opened is None else count_ids(tokenizer, shown, opened, Reporter(progress))
    reach = judge(tokenizer, material)
    return VocabularyReport(
        name=tokenizer.name,
        mode=tokenizer.mode,
        tokens=shown.tokens,
        names=[i for i, kind in enumerate(shown.kinds) if kind is Kind.NAME],
        witnesses=reach.witnesses,
        impossible={i: reason.value for i, reason in sorted(reach.impossible.items())},
        undecided=reach.undecided,
        partial=partial_tokens(shown),
        forms=group_forms(shown),
        digits=describe_digits(tokenizer, shown, reach.witnesses),
        indentation=describe_indentation(tokenizer, shown, reach.witnesses),
        scripts=script_rows(shown, usage),
        corpus=None if usage is None else _use_of(material, usage, reach.witnesses),
    )


def _surfaces(tokenizer: Described, material: Material) -> list[bytes]:
    """Return the bytes that each character-level token adds to a text, without a mark or space at a word's end."""
    surfaces = []
    for i, (kind, token) in enumerate(zip(material.kinds, material.tokens, strict=True)):
        surface = surface_of(tokenizer, i) if kind in (Kind.TEXT, Kind.BYTE) else token
        ends_word = material.suffix != b"" and token.endswith(material.suffix)
        surfaces.append(surface.removesuffix(material.suffix).rstrip(b" ") if ends_word else surface)
    return surfaces


def _use_of(material: Material, usage: Usage, producible: Mapping[int, str]) -> CorpusUse:
    counts = usage.counts(len(material.tokens))
    unused = [
        i
        for i, kind in enumerate(material.kinds)
        if kind is Kind.TEXT and not counts[i] and i in producible and not _is_base(material, i)
    ]
    used = parts_of(material, (i for i, n in enumerate(counts) if n and material.kinds[i] is Kind.TEXT))
    parts = frozenset(used.intersection(unused))
    return CorpusUse(
        n_bytes=usage.n_bytes,
        n_ids=sum(counts),
        counts=counts,
        unused=sorted(unused, key=lambda i: (i in parts, i)),
        parts=parts,
    )


def _is_base(material: Material, token_id: int) -> bool:
    """Tell whether a token is a symbol with which merging begins."""
    token = material.tokens[token_id]
    if material.symbols_of is not None:
        return len(material.symbols_of(token)) == 1
    return len(token) == 1 or (material.in_characters and len(token.decode(errors="replace")) == 1)


def parts_of(material: Material, ids: Iterable[int]) -> set[int]:
    """Collect the tokens from which merging makes the given tokens."""
    halves = material.halves()
    seen: set[int] = set()
    todo = [*ids]
    while todo:
        token_id = todo.pop()
        parts = halves.get(token_id)
        if parts is None and token_id in material.symbols and not _is_base(material, token_id):
            left = merged(material, material.symbol_bytes[material.symbols[token_id]])
            trees = left[0].parts if len(left) == 1 else ()
            parts = tuple(tree.id for tree in trees if tree.id is not None)
        for part in parts or ():
            if part not in seen:
                seen.add(part)
                todo.append(part)
    return seen


def _shown_groups(groups: Mapping[int, Sequence[int] | None]) -> str:
    """Describe the groups of the longest number that is always split in the same way."""
    constant = {n: sizes for n, sizes in groups.items() if sizes is not None}
    longest = max(constant, default=0)
    if not longest:
        return "depending on the digits"
    shown = "+".join(map(str, constant[longest]))
    if longest == max(groups):
        return f"{longest} digits as {shown}"
    return f"{longest} digits as {shown}; longer ones depending on the digits"
