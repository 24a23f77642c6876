"""Folders of BERTweet, Blenderbot Small, CTRL and PhoBERT: merges within words, as in subword-nmt and fastBPE.

Merging begins with the characters of a word; `</w>` follows the last one. Afterwards, the last symbol of the word
is looked up without `</w>`, and each other symbol with `@@` after it. A symbol that the vocabulary lacks becomes
the unknown token, but until then it merges like any other. transformers runs these classes in Python; for added
tokens, see `python_backend`. tests/conformance/test_subword_folders.py compares folders with transformers 5.24.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.errors import FormatError
from fastbpe.formats import gpt2
from fastbpe.formats.huggingface import class_settings, python_backend, tokenizer_config
from fastbpe.formats.huggingface.class_settings import ROBERTA_ROLES
from fastbpe.formats.huggingface.step_json import replace, split
from fastbpe.model import PAIR, TEXT, CodePointModel, Model, Spelling, Symbols, pack_merges

_END, _GOES_ON = gpt2.WORD_END, "@@"
_FAIRSEQ = ("vocab.txt", "bpe.codes")  # their lines end with a count
_FIRST = ("bos", "pad", "eos", "unk")  # roles of the tokens before the tokens of vocab.txt
_BLANKS = r"\s\x1C-\x1F"  # white space as in Python and its package re; the package regex has only \s


class _Kind(NamedTuple):
    """Class of transformers whose folders this module reads.

    Attributes:
        roles: role → its token if no file names one.
        files: names of the vocabulary and of the merges.
        pattern: regex of words.
        lowers: texts become lower case.
    """

    roles: Mapping[str, str]
    files: tuple[str, str]
    pattern: str
    lowers: bool = False


_BLENDERBOT_ROLES = {"bos": "__start__", "eos": "__end__", "unk": "__unk__", "pad": "__null__"}
_OF_FAIRSEQ = _Kind(ROBERTA_ROLES, _FAIRSEQ, rf"[^{_BLANKS}]+\n?")
#: Name without "Tokenizer" → class.
CLASSES: Mapping[str, _Kind] = {
    "Bertweet": _OF_FAIRSEQ,
    "BlenderbotSmall": _Kind(_BLENDERBOT_ROLES, gpt2.NAMES, r"\S+", lowers=True),
    "CTRL": _Kind({"unk": "<unk>"}, gpt2.NAMES, r"\S+\n?"),
    "Phobert": _OF_FAIRSEQ,
}


def finds(folder: str, class_name: str) -> bool:
    """Tell whether a folder has the files of a class of this module."""
    return all(os.path.isfile(os.path.join(folder, name)) for name in CLASSES[class_name].files)


def read(
    folder: str, config: Mapping[str, Any], class_name: str, special_tokens: Mapping[str, int] | None = None
) -> Model | CodePointModel:
    """Read the model of a folder. Requires: finds(folder, class_name).

    Args and errors: as for `table_folders.read`.
    """
    kind = CLASSES[class_name]
    where, merges_path = (os.path.join(folder, name) for name in kind.files)
    fail = python_backend.failing(where)
    python_backend.refuse_special_tokens(special_tokens, where)
    if config.get("normalization"):
        fail("with normalization, the class replaces links, user names and emoji (these with the package emoji)")
    named = python_backend.read_named(folder, kind.roles)
    roles, is_fairseq = named.roles, kind.files == _FAIRSEQ
    needed = (*_FIRST, "cls", "sep") if is_fairseq else ("unk",)
    if missing := [role for role in needed if role not in roles]:
        fail(f"the class {class_name}Tokenizer needs the {missing[0]}_token")
    if is_fairseq:
        first = [roles[role] for role in _FIRST]
        if len({*first}) < len(first):
            fail(f"the tokens {', '.join(first)} have the first ids, but two are the same")
        vocab = python_backend.read_dictionary(where, first, lambda line: line.strip().rpartition(" ")[0])
    else:
        vocab = python_backend.read_vocabulary(where)
    if roles["unk"] not in vocab:
        fail(f"it lacks the unk_token {roles['unk']!r:.60}")
    # In Python, stripping also removes \x1C to \x1F, which only fairseq's words exclude.
    added = python_backend.added_tokens(named, vocab, fail, may_strip=is_fairseq)
    rows = python_backend.with_added(vocab, added, fail)
    tokens = [token.encode() for token in rows]
    ids = {token: i for i, token in enumerate(rows)}
    symbols, merges = _numbered(ids, _read_merges(merges_path, is_fairseq), merges_path)
    around: dict[str, Any] = {}
    if is_fairseq:
        cls, sep = ids[roles["cls"]], ids[roles["sep"]]
        around = {"template": ((cls,), (sep,)), "pair_template": (cls, TEXT, sep, sep, PAIR, sep)}
    model = Model(
        tokens=tokens,
        pattern=None,
        special_tokens={token.content: token.id for token in added if token.special},
        merges=pack_merges(merges),
        merges_rule="merges",
        whole_piece_first=False,
        pre_tokenizers=[split(kind.pattern, "Removed", invert=True)],
        normalizers=_normalizers() if kind.lowers else (),
        added_tokens=added,
        huggingface={"decoder": _decoder(rows)},
        spelling=Spelling(suffix=_END, unknown_token=roles["unk"], unknown=ids[roles["unk"]]),
        symbols=Symbols(symbols, [ids.get(_token(text), ids[roles["unk"]]) for text in symbols], kind.lowers),
        **around,
    )
    return tokenizer_config.with_own_tokens(model, folder, named, is_bare=False)


def _read_merges(path: str, is_fairseq: bool) -> Iterable[tuple[str, ...]]:
    """Read the merges, best first. As in the classes, text after the last line ending is not a merge."""
    lines = [line for line in python_backend.read_lines(path) if line.endswith("\n")]
    found: dict[tuple[str, ...], None] = {}
    for line in lines if is_fairseq else lines[1:]:  # without the line of the version
        pair = tuple(line.split())[: -1 if is_fairseq else None]
        found.pop(pair, None)  # of equal merges, the last counts
        found[pair] = None
    return found


def _numbered(
    ids: Mapping[str, int], pairs: Iterable[tuple[str, ...]], where: str
) -> tuple[list[str], list[tuple[int, int, int]]]:
    """Return the symbols, and the merges as (left, right, merged) indices of symbols."""
    symbols: dict[str, int] = {}

    def number(text: str) -> int:
        return symbols.setdefault(text, len(symbols))

    for token in ids:  # number the symbols that exist before any merge
        if len(token) == 1:
            number(token + _END)
        elif token[1:] == _GOES_ON:
            number(token[0])
    merges = []
    for pair in pairs:
        if len(pair) != 2 or pair[0].endswith(_END):
            continue  # such a pair occurs in no word
        left, right = pair
        if (left + right).endswith(_END) and not right.endswith(_END):
            raise FormatError(
                f"{where}: it merges {left!r:.40} and {right!r:.40} to a text that ends with {_END}, which also "
                f"marks the end of words, so fastbpe cannot tell the two apart; {class_settings.WAY_OUT_OF_PYTHON}"
            )
        merges.append((number(left), number(right), number(left + right)))
    return [*symbols], merges


def _token(symbol: str) -> str:
    """Return the token for a symbol, as the vocabulary spells it."""
    return symbol.removesuffix(_END) if symbol.endswith(_END) else symbol + _GOES_ON


def _normalizers() -> list[dict[str, Any]]:
    """Return the steps of Blenderbot Small.

    A line feed becomes `__newln__`, except at the start of a text and after an apostrophe or white space.
    """
    marks = [replace("String", mark, f" {mark}") for mark in ".,!?()"]
    return [replace("Regex", r"(?<=[^\s'])\n", " __newln__ "), *marks, replace("String", "'", " ' ")]


def _decoder(rows: Iterable[str]) -> dict[str, Any]:
    """Return the decoder: it puts spaces between tokens, removes `@@` with the space, and strips the text."""
    n = max(len(token) - len(token.lstrip("\0")) for token in rows)
    steps = [
        {"type": "WordPiece", "prefix": "\0" * (n + 1), "cleanup": False},  # a prefix that no token has
        {"type": "Fuse"},
        replace("String", f"{_GOES_ON} ", ""),
    ]
    if any(map(str.isspace, "".join(rows))):  # without white space in tokens, the ends have nothing to strip
        steps.append(replace("Regex", rf"\A[{_BLANKS}]+|[{_BLANKS}]+\z", ""))
    return {"type": "Sequence", "decoders": steps}
