"""GGUF files such as Gemma 4's: characters are base symbols, U+2581 is a space, and text is cut around line feeds.

llama.cpp merges the texts of tokens and then looks up the ids of the results, whatever the types of these tokens.
This module turns the file into a tokenizer.json with the same ids, which `read_characters` reads.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from fastbpe.formats.gguf.keys import Keys, added_tokens
from fastbpe.formats.huggingface import read_characters, step_json, templates
from fastbpe.formats.huggingface.byte_vocabulary import BYTE_NAMES
from fastbpe.formats.huggingface.llama_symbols import merged
from fastbpe.formats.huggingface.write import document
from fastbpe.model import AddedToken, Model, around

#: Kind of a file, and the name of its steps in files of the kind "gpt2".
GEMMA = "gemma4"
#: Names of `tokenizer.ggml.pre` that mean these steps.
PRE_NAMES = (GEMMA, "granite-embed-multi-311m", "sarvam-moe")
_ANY_LINES = "sarvam-moe"  # bos is not forced, and runs of line feeds are merged like other text
_MAX_LINES = 256  # line feeds in a token: `merged` takes quadratic time, for a token of each length

#: Normalizer and pre-tokenizer, as in a tokenizer.json.
STEPS: Mapping[str, Any] = {
    "normalizer": step_json.ESCAPE,
    "pre_tokenizer": step_json.split(r"[^\n]+|[\n]+"),
}


def read(keys: Keys, pre: str, special_tokens: Mapping[str, int] | None) -> Model:
    """Create the model of a file. pre: one of PRE_NAMES.

    Raises:
        FormatError: a damaged file, one without a token for each byte, or one for which llama.cpp does not follow
            the list of merges.
    """
    listed = keys.items("tokens", bytes, None)
    keys.check_unequal(listed)
    texts = [keys.decoded("tokens", token) or f"[EMPTY_{i}]" for i, token in enumerate(listed)]
    vocabulary = {text: i for i, text in enumerate(texts)}
    lacking = [name for name in BYTE_NAMES if name not in vocabulary]
    if lacking:  # llama.cpp then leaves bytes out, and merges nothing across them
        keys.fail("tokens", f"{lacking[0]} is not a token: expected tokens of all bytes, <0x00> to <0xFF>")
    types = keys.types(len(texts))
    keys.check_bytes(listed, types)
    added = added_tokens(texts, types)
    lines = [keys.decoded("merges", line) for line in keys.items("merges", bytes, None)]
    merges = [*dict.fromkeys(lines)]  # of two equal merges, the first counts
    _check_bytes(keys, merges)
    if pre != _ANY_LINES:
        _check_lines(keys, vocabulary, merges, added)
    roles = keys.role_ids(len(texts))
    before, behind = keys.around(roles, adds_bos=False)
    if pre != _ANY_LINES and "bos" in roles:
        before = [roles["bos"]]  # whatever the file says
    described = document(
        added_tokens=added,
        post_processor=templates.describe(around(before, behind), texts),
        decoder=step_json.llama_decoder(),
        byte_fallback=True,
        vocab=vocabulary,
        merges=[line.split(" ") for line in merges],  # not as text: "#version…" would be skipped
        **STEPS,
    )
    model = read_characters.parse(json.dumps(described).encode(), keys.where, special_tokens=special_tokens)
    return model._replace(roles={role: texts[token_id] for role, token_id in roles.items()})


def _check_bytes(keys: Keys, merges: Sequence[str]) -> None:
    """Raise FormatError if a merge contains a byte token: llama.cpp merges it only in texts like "<0x0A>"."""
    for i, line in enumerate(merges):
        if "<0x" in line and not {*line.split(" ")}.isdisjoint(BYTE_NAMES):
            keys.fail("merges", f"merge {i}, {line!r:.80}: byte tokens cannot be merged")


def _check_lines(
    keys: Keys, vocabulary: Mapping[str, int], merges: Sequence[str], added: Sequence[AddedToken]
) -> None:
    """Raise FormatError for a token of line feeds that merging does not make, or with more than _MAX_LINES.

    llama.cpp encodes such a token as a whole. A token whose text contains an added token need not be checked,
    because such a text is cut before merging. This is not true of special tokens: they cut a text only if the
    caller allows them.
    """
    found = [len(token.content) for token in added if not token.special and not token.content.strip("\n")]
    shortest = min(found, default=sys.maxsize)
    pairs = [line.split(" ") for line in merges if not line.strip("\n ")]  # only these can merge line feeds
    # `read_characters` refuses a line of more or fewer than two tokens.
    ranks = {(left, right): rank for rank, (left, right) in enumerate(pair for pair in pairs if len(pair) == 2)}
    for token in vocabulary:
        if token.strip("\n") or len(token) >= shortest:
            continue
        if len(token) > _MAX_LINES or merged(token, ranks) != [token]:
            keys.fail(
                "tokens",
                f"llama.cpp encodes {token!r:.60} as one token, but the merges do not make this token; fastbpe "
                "follows the merges, so it would return other ids",
            )
