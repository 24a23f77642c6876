"""minbpe's files. `.model`: a line "minbpe v1", the split pattern, the special tokens, then one line per merge.

Merge i makes the id 256 + i; ids 0 to 255 are the bytes. `.vocab` shows the same in readable form, and is never
read.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from fastbpe.errors import FormatError
from fastbpe.formats.atomic_files import as_text
from fastbpe.formats.limits import MAX_SPECIAL_TOKENS, check_entries
from fastbpe.model import Buffer, Model, pack_merges
from fastbpe.patterns import Pattern

MAGIC = "minbpe v1"
_NUMBER = re.compile(r"[0-9]{1,9}")
_MERGE = re.compile(r"([0-9]{1,9}) ([0-9]{1,9})")
_MAX_BYTES = 1 << 28  # of all tokens together: each merge may double the longest


def recognise(data: Buffer) -> bool:
    """Tell whether a file begins like a minbpe `.model` file."""
    return bytes(data[:64]).split(b"\n")[0].strip() == MAGIC.encode()


def parse(data: Buffer, where: str, *, special_tokens: Mapping[str, int] | None = None) -> Model:
    """Read the model in the bytes of a `.model` file. Raises FormatError if it is damaged or too large."""
    check_entries(data, where, b"\n")
    lines = as_text(data, where).replace("\r\n", "\n").split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) < 3:
        raise FormatError(f"{where}: truncated: it ends after line {len(lines)}, before the special tokens")
    if lines[0].strip() != MAGIC:
        raise FormatError(f"{where}:1: expected {MAGIC!r}, found {lines[0][:40]!r}")
    own_special_tokens, first = _special_tokens(lines, where)
    tokens, merges = _merges(lines, first, where)
    return Model(
        tokens=tokens,
        pattern=lines[1].strip() or None,
        special_tokens=own_special_tokens if special_tokens is None else special_tokens,
        merges=pack_merges(merges),
        merges_rule="merges",
        whole_piece_first=False,
    )


def _special_tokens(lines: Sequence[str], where: str) -> tuple[dict[str, int], int]:
    """Return (special tokens, index of the line after them)."""
    n = lines[2].strip()
    if not _NUMBER.fullmatch(n):
        raise FormatError(f"{where}:3: expected the number of special tokens, found {lines[2][:40]!r}")
    end = 3 + int(n)
    if int(n) > MAX_SPECIAL_TOKENS:
        raise FormatError(f"{where}:3: {n} special tokens: the limit is {MAX_SPECIAL_TOKENS}")
    if end > len(lines):
        raise FormatError(f"{where}: truncated: it ends after line {len(lines)}, among its {n} special tokens")
    found: dict[str, int] = {}
    for number, line in enumerate(lines[3:end], 4):
        fields = line.split()
        if len(fields) != 2 or not _NUMBER.fullmatch(fields[1]):
            raise FormatError(f"{where}:{number}: expected a special token and its id, found {line[:80]!r}")
        if fields[0] in found:
            raise FormatError(f"{where}:{number}: special token {fields[0]!r} appears twice")
        found[fields[0]] = int(fields[1])
    return found, end


def _merges(lines: Sequence[str], first: int, where: str) -> tuple[list[bytes], list[tuple[int, int, int]]]:
    """Return (bytes of each id, (left id, right id, merged id) of each merge)."""
    tokens = [bytes([byte]) for byte in range(256)]
    merges: list[tuple[int, int, int]] = []
    lines_of: dict[tuple[int, int], int] = {}
    n_bytes = 0
    for number, line in enumerate(lines[first:], first + 1):
        match = _MERGE.fullmatch(line.strip())
        if match is None:
            raise FormatError(f"{where}:{number}: expected two ids, found {line[:80]!r}")
        left, right = int(match[1]), int(match[2])
        if max(left, right) >= len(tokens):
            raise FormatError(
                f"{where}:{number}: no earlier merge creates id {max(left, right)}; this merge creates id "
                f"{len(tokens)}"
            )
        if lines_of.setdefault((left, right), number) != number:
            raise FormatError(
                f"{where}:{number}: the pair {left} {right} is already on line {lines_of[left, right]}"
            )
        n_bytes += len(tokens[left]) + len(tokens[right])
        if n_bytes > _MAX_BYTES:
            raise FormatError(f"{where}:{number}: the tokens up to here have more than {_MAX_BYTES} bytes")
        merges.append((left, right, len(tokens)))
        tokens.append(tokens[left] + tokens[right])
    return tokens, merges


def is_learned(merges: Iterable[tuple[int, int, int]]) -> bool:
    """Tell whether the merges make the ids 256, 257 and so on, in order."""
    return all(merged == i for i, (_, _, merged) in enumerate(merges, 256))


def dump(
    tokens: Sequence[bytes],
    merges: Sequence[tuple[int, int, int]],
    pattern: Pattern,
    special_tokens: Mapping[str, int],
) -> bytes:
    """Return the bytes of a `.model` file. merges: (left id, right id, merged id).

    Raises FormatError if such a file cannot store the vocabulary.
    """
    listed = tokens[: next((i for i in range(len(tokens), 0, -1) if tokens[i - 1]), 0)]
    if any(token != bytes([byte]) for byte, token in enumerate(listed[:256])):
        raise FormatError(
            "in a minbpe file, ids 0 to 255 must be the bytes in order, but in this vocabulary they are not; "
            "export this tokenizer as native"
        )
    for i, (left, right, merged) in enumerate(merges):
        if merged != 256 + i:
            raise FormatError(
                f"in a minbpe file, merge {i} always makes the id {256 + i}, but in this vocabulary it makes the "
                f"id {merged}; export this tokenizer as native"
            )
        if max(left, right) >= merged:
            later, token = max(left, right), tokens[merged]
            parts = f"{tokens[left]!r} (id {left}) and {tokens[right]!r} (id {right})"
            raise FormatError(
                f"the token {token!r} (id {merged}) is merged from {parts}, but a minbpe file makes the id "
                f"{later} later, so the text {token.decode(errors='replace')!r} would not become the id {merged}; "
                "export this tokenizer as native, tiktoken or huggingface"
            )
    if len(listed) != 256 + len(merges):
        raise FormatError(
            f"the id {256 + len(merges)} is not the result of a merge, but a minbpe file can store only bytes and "
            "merges; export this tokenizer as native"
        )
    if pattern is not None and (
        not isinstance(pattern, str) or pattern != pattern.strip() or "\n" in pattern or "\r" in pattern
    ):
        raise FormatError(
            "a minbpe file stores its split pattern as one line, without white space around it, so it cannot "
            f"store {pattern!r:.120}; export this tokenizer as native"
        )
    for name in special_tokens:
        if name.split() != [name]:
            raise FormatError(
                f"special token {name!r} is empty or contains white space, which a minbpe file cannot store; "
                "rename it, or export this tokenizer as native"
            )
    pairs = [(left, right) for left, right, _ in merges]
    return model_text(pattern or "", special_tokens, pairs).encode()


def model_text(pattern: str, special_tokens: Mapping[str, int], merges: Iterable[tuple[int, int]]) -> str:
    """Return the text of a `.model` file as minbpe writes it, without checks. pattern: "": no splitting."""
    lines = [MAGIC, pattern, str(len(special_tokens))]
    lines += [f"{name} {token_id}" for name, token_id in special_tokens.items()]
    lines += [f"{left} {right}" for left, right in merges]
    return "\n".join(lines) + "\n"


def vocab_text(vocab: Mapping[int, bytes], merges: Mapping[tuple[int, int], int]) -> str:
    """Return the text of a `.vocab` file: one line per id, in the order of `vocab`, with the token's parts."""
    parts = {merged: pair for pair, merged in merges.items()}
    lines = []
    for token_id, token in vocab.items():
        made_of = "".join(f"[{shown(vocab[part])}]" for part in parts.get(token_id, ()))
        lines.append(f"{made_of}{' -> ' if made_of else ''}[{shown(token)}] {token_id}\n")
    return "".join(lines)


def shown(token: bytes) -> str:
    r"""Return a readable form of a token: U+FFFD for bytes that are not UTF-8, escapes for invisible characters.

    >>> shown(b"a\n\xff")
    'a\\u000a\ufffd'
    """
    return without_controls(token.decode(errors="replace"))


def without_controls(text: str) -> str:
    """Escape invisible characters by number."""
    return "".join(f"\\u{ord(c):04x}" if unicodedata.category(c)[0] == "C" else c for c in text)
