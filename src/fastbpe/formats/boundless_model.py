"""`.model` files of BoundlessBPE, second version ("BoundlessBPE v2 …"), as in its reference implementation.

Lines: the header with the kind of the model (word, boundless, superbpe); tokens (`id token count is_superword`);
special tokens (`id token`); the section "words" (a JSON object, merges, deletions), and in models with superwords
a similar section "superwords". A merge is `number left right` and two more numbers. Tokens, special
tokens, merges and deletions each follow a line with a name and a line that says how many they are. Tokens are
written in GPT-2's characters. Counts and the last two numbers of a merge do not affect ids, so fastbpe drops them
and writes 0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from fastbpe.errors import FormatError
from fastbpe.formats.atomic_files import as_text
from fastbpe.formats.byte_level import bytes_of, text_of
from fastbpe.formats.limits import MAX_SPECIAL_TOKENS, check_entries
from fastbpe.model import Buffer, Model, Supermerges, pack_merges

MAGIC = b"BoundlessBPE v2 "
_KINDS = ("word", "boundless", "superbpe")
_LETTER = r"\p{L}"  # pattern of the words that superwords consist of, unless a model has another
_UTF8_BYTES = (*range(0xC0), *range(0xC2, 0xF5))  # the reference's base; UTF-8 never has the other bytes
_MAX_CONFIG = 1 << 20  # characters of the options; a longer object is cut, and so refused before it fills memory

Triple = tuple[int, int, int]  # left id, right id, merged id


def recognise(data: Buffer) -> bool:
    """Tell whether a file begins like a model of this format."""
    return bytes(data[: len(MAGIC)]) == MAGIC


def parse(data: Buffer, where: str, *, special_tokens: Mapping[str, int] | None = None) -> Model:
    """Read the model in the bytes of a file.

    Raises:
        FormatError: a damaged file (the message says where), or a model that deletes tokens or splits by scripts.
    """
    check_entries(data, where, b"\n")
    lines = _Lines(as_text(data, where).replace("\r\n", "\n").split("\n"), where)
    kind = lines.next().strip().removeprefix(MAGIC.decode())
    if kind not in _KINDS:
        lines.fail(f"unknown kind of model {kind!r:.40}; fastbpe reads the kinds {', '.join(_KINDS)}")
    tokens = _read_tokens(lines)
    own_special_tokens = _read_special_tokens(lines)
    ids = {token: i for i, token in enumerate(tokens)}
    if (missing := _missing_byte(ids)) is not None:
        raise FormatError(f"{where}: it has no token for the byte 0x{missing:02x}, so it cannot encode all text")
    config, word_merges = _read_section(lines, "words", ids)
    _check_order(word_merges, tokens, where)
    supermerges = None
    if kind != "word":
        _, merges = _read_section(lines, "superwords", ids)
        pattern = config.get("merge_pattern")
        supermerges = Supermerges(pack_merges(merges), kind, pattern if isinstance(pattern, str) else _LETTER)
    return Model(
        tokens=tokens,
        pattern=config["main_regex"],
        special_tokens=own_special_tokens if special_tokens is None else special_tokens,
        merges=pack_merges(word_merges),
        merges_rule="merges",
        whole_piece_first=False,
        drops_bytes=any(bytes([byte]) not in ids for byte in range(256)),
        supermerges=supermerges,
    )


class _Lines:
    """Reader of the lines of a file, with line numbers for errors."""

    def __init__(self, lines: Sequence[str], where: str) -> None:
        self._lines = lines
        self._n_read = 0
        self._where = where

    def next(self) -> str:
        """Return the next line. Raises FormatError at the end of the file."""
        if self._n_read == len(self._lines):
            raise FormatError(
                f"{self._where}: truncated: it ends after line {self._n_read}; copy the file again or recreate it"
            )
        self._n_read += 1
        return self._lines[self._n_read - 1]

    def fail(self, problem: str) -> NoReturn:
        """Raise FormatError for the line that was read last."""
        raise FormatError(f"{self._where}:{self._n_read}: {problem}") from None

    def expect(self, name: str) -> None:
        """Read the next line. Raises FormatError unless it is this name."""
        if (line := self.next().strip()) != name:
            self.fail(f"expected {name!r}, found {line!r:.60}")

    def number(self) -> int:
        """Read a line with the number of lines that follow. Raises FormatError for any other line."""
        line = self.next().strip()
        if not _is_number(line):
            self.fail(f"expected a number of lines, found {line!r:.60}")
        return int(line)

    def fields(self, n: int) -> list[str]:
        """Read a line of n fields. Raises FormatError if there are fewer or more, or the first is no number."""
        fields = self.next().strip().split(" ")
        if len(fields) != n or not _is_number(fields[0]):
            self.fail(f"expected {n} fields, the first one a number, found {' '.join(fields)!r:.80}")
        return fields

    def token(self, text: str) -> bytes:
        """Return the bytes of a token from its text in a line, where each character stands for a byte.

        Raises FormatError if the text is empty, or a character stands for no byte.
        """
        token = bytes_of(text)
        if not token:
            why = "one of its characters stands for no byte" if text else "it is empty"
            self.fail(f"{text!r:.60} is not a token: {why}")
        return token


def _is_number(text: str) -> bool:
    """Tell whether a text is a number below 10**9, which all tables can store."""
    return text.isascii() and text.isdecimal() and len(text) <= 9


def _missing_byte(ids: Mapping[bytes, int]) -> int | None:
    """Return the first byte of _UTF8_BYTES that is not a token; None: all are tokens."""
    return next((byte for byte in _UTF8_BYTES if bytes([byte]) not in ids), None)


def _read_tokens(lines: _Lines) -> list[bytes]:
    """Read the tokens by id."""
    lines.expect("vocabulary")
    tokens: list[bytes] = []
    known: set[bytes] = set()
    for i in range(lines.number()):
        number, text, _, _ = lines.fields(4)
        if int(number) != i:
            lines.fail(f"token {text!r:.60} has the id {number}, but the next id is {i}")
        token = lines.token(text)
        if token in known:
            lines.fail(f"token {text!r:.60} appears twice")
        known.add(token)
        tokens.append(token)
    return tokens


def _read_special_tokens(lines: _Lines) -> dict[str, int]:
    """Read the special tokens: name → id."""
    lines.expect("special_tokens")
    n = lines.number()
    if n > MAX_SPECIAL_TOKENS:
        lines.fail(f"{n} special tokens: the limit is {MAX_SPECIAL_TOKENS}")
    found: dict[str, int] = {}
    for _ in range(n):
        number, _, name = lines.next().strip().partition(" ")
        if not _is_number(number) or not name or name in found:
            lines.fail(
                f"expected an id and a special token that no earlier line has, found {f'{number} {name}'!r:.80}"
            )
        found[name] = int(number)
    return found


def _read_section(lines: _Lines, name: str, ids: Mapping[bytes, int]) -> tuple[dict[str, Any], list[Triple]]:
    """Read the options and the merges, best first. name: "words" or "superwords"."""
    lines.expect(name)
    try:
        config = json.loads(lines.next()[:_MAX_CONFIG])
    except (ValueError, RecursionError):
        lines.fail("expected the options of the model as a JSON object")
    if not isinstance(config, dict) or not isinstance(config.get("main_regex"), str):
        lines.fail("the options must be an object with 'main_regex', the split pattern")
    if config.get("script_specific_regex") is not None:
        lines.fail(
            "the model splits some scripts by a separate pattern (script_specific_regex), which fastbpe does not "
            "support; use BoundlessBPE's own code, or train a model without script_specific_regex"
        )
    lines.expect("merges")
    rows: list[tuple[int, int, int, int]] = []  # number of the merge, then its Triple
    for _ in range(lines.number()):
        number, left, right, _, _ = lines.fields(5)
        parts = lines.token(left), lines.token(right)
        missing = next((part for part in (*parts, parts[0] + parts[1]) if part not in ids), None)
        if missing is not None:
            lines.fail(f"the merge of {left!r:.60} and {right!r:.60} needs {missing!r:.60}, which is not a token")
        rows.append((int(number), ids[parts[0]], ids[parts[1]], ids[parts[0] + parts[1]]))
    lines.expect("deletions")
    if n := lines.number():
        lines.fail(
            f"the model deletes {n} tokens (PickyBPE), which fastbpe does not support; use BoundlessBPE's "
            "own code, or train a model with tau above 1"
        )
    rows.sort()  # by number; the first may be any, because only the order matters
    if len({row[1:3] for row in rows}) < len(rows):
        lines.fail(f"two merges of the section {name!r} join the same two tokens")
    if any(row[0] != rows[0][0] + i for i, row in enumerate(rows)):
        lines.fail(f"the numbers of the merges of the section {name!r} have gaps or repetitions")
    return config, [row[1:] for row in rows]


def _check_order(merges: Sequence[Triple], tokens: Sequence[bytes], where: str) -> None:
    """Raise FormatError if a merge joins a token that no earlier merge makes.

    The reference implementation never applies such a merge. Tokens of one byte need no merge.
    """
    bad = out_of_order(merges, tokens)
    if bad is not None:
        raise FormatError(
            f"{where}: merge {bad} (from 0) of the section 'words' joins a token that no earlier merge creates; "
            "training never produces this order: copy the file again or recreate it"
        )


def out_of_order(merges: Sequence[Triple], tokens: Sequence[bytes]) -> int | None:
    """Return the index of the first merge that joins a token that no earlier merge makes; None: all are in order.

    Tokens of one byte need no merge.
    """
    made = {i for i, token in enumerate(tokens) if len(token) == 1}
    for number, (left, right, merged) in enumerate(merges):
        if left not in made or right not in made:
            return number
        made.add(merged)
    return None


def dump(
    tokens: Sequence[bytes],
    word_merges: Sequence[Triple],
    supermerges: Supermerges | None,
    pattern: str,
    special_tokens: Mapping[str, int],
) -> bytes:
    """Return the bytes of a file. supermerges: merges of whole words; None: the model has no superwords.

    Raises FormatError if such a file cannot store the vocabulary.
    """
    ids = {token: i for i, token in enumerate(tokens)}
    if len(ids) < len(tokens) or b"" in ids:
        raise FormatError(
            "a .model of BoundlessBPE cannot store ids without a token, or a token with two ids; export this "
            "tokenizer as native"
        )
    if (missing := _missing_byte(ids)) is not None:
        raise FormatError(
            f"a .model of BoundlessBPE needs a token for the byte 0x{missing:02x}; export this tokenizer as native"
        )
    bad = next((name for name in special_tokens if name != name.strip() or "\n" in name or "\r" in name), None)
    if bad is not None:
        raise FormatError(
            f"a .model of BoundlessBPE cannot store the special token {bad!r}, because it contains a line ending, "
            "or begins or ends with white space; rename it, or export this tokenizer as native"
        )
    if out_of_order(word_merges, tokens) is not None:
        raise FormatError(
            "a .model of BoundlessBPE cannot store these merges, because one joins a token that no earlier "
            "merge makes; export this tokenizer as native"
        )
    kind = "word" if supermerges is None else supermerges.kind
    super_merges = [] if supermerges is None else supermerges.merge_list()
    super_ids = {merged for _, _, merged in super_merges} - {merged for _, _, merged in word_merges}
    lines = [MAGIC.decode() + kind, "vocabulary", str(len(tokens))]
    lines += [f"{i} {text_of(token)} 0 {int(i in super_ids)}" for i, token in enumerate(tokens)]
    lines += ["special_tokens", str(len(special_tokens))]
    lines += [f"{i} {name}" for name, i in sorted(special_tokens.items(), key=lambda item: item[1])]
    merge_pattern = _LETTER if supermerges is None else supermerges.pattern
    lines += _section("words", word_merges, tokens, pattern, merge_pattern, kind="word")
    if supermerges is not None:
        lines += _section("superwords", super_merges, tokens, pattern, merge_pattern, kind=kind)
    return ("\n".join(lines) + "\n").encode()


def _section(
    name: str, merges: Sequence[Triple], tokens: Sequence[bytes], pattern: str, merge_pattern: str, *, kind: str
) -> list[str]:
    """Return the lines of a section.

    merge_pattern: regex that matches in each word from which superwords are learned.
    kind: "word" in the section of words; in the section of superwords, "boundless" or "superbpe".
    """
    config = {
        "tau": 1.1,  # above 1, training deletes no token
        "is_super": kind != "word",
        "superbpe_mode": kind == "superbpe",
        "blowup": False,
        "main_regex": pattern,
        "script_specific_regex": None,
        "script_specific_scripts": None,
        "merge_pattern": merge_pattern,
    }
    pairs = [(text_of(tokens[left]), text_of(tokens[right])) for left, right, _ in merges]
    return [
        name,
        json.dumps(config),
        "merges",
        str(len(merges)),
        *(f"{i} {left} {right} 0 0" for i, (left, right) in enumerate(pairs)),
        "deletions",
        "0",
    ]
