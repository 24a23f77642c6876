"""Hugging Face's `tokenizer.json`, as tokenizers 0.23 reads and writes it.

Read are byte-level BPE vocabularies: merges in the order of the list, tokens in GPT-2's stand-ins of bytes. What
decides ids goes into the Model; the rest of the file is kept for writing it again.

Two things of a file are not applied: truncation and padding, which are settings of a program, not of a vocabulary.
A FormatWarning says so.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from fastbpe._utils.optional_imports import find_orjson
from fastbpe.errors import FormatError
from fastbpe.formats.byte_level import text_of
from fastbpe.formats.huggingface import _vocab_json, parts, templates
from fastbpe.formats.huggingface import vocabulary as vocabulary_
from fastbpe.formats.huggingface.parts import Part
from fastbpe.model import AddedToken, Buffer, Model

_Vocabulary: TypeAlias = dict[str, int] | _vocab_json.Entries
_Made = TypeVar("_Made")

_KEPT = ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
_OFF: Mapping[str, tuple[Any, ...]] = {
    "dropout": (None, 0, 0.0),
    "continuing_subword_prefix": (None, ""),
    "end_of_word_suffix": (None, ""),
}


def recognise(data: Buffer) -> bool:
    """Whether it looks like a JSON object with a model in it."""
    head = bytes(data[:64]).lstrip(b"\xef\xbb\xbf \t\r\n")
    return head[:1] == b"{" and re.search(rb'"model"\s*:\s*\{', data) is not None


def parse(data: Buffer, where: str, *, special_tokens: Mapping[str, int] | None = None) -> Model:
    """The model in a file's bytes. where: what errors call the file. special_tokens: in place of the file's."""
    raw = bytes(data)
    model = read_with_entries(raw, where, _model)
    if model is None:
        model = _model(Part(read_json(raw, where), where, ""))
        assert model is not None
    if special_tokens is None:
        return model
    others = [token for token in model.added_tokens if not token.special]
    return replace(model, special_tokens=dict(special_tokens), added_tokens=others)


def _model(top: Part, entries: _vocab_json.Entries | None = None) -> Model | None:
    """The model; entries: what was read in advance. None if that is not enough."""
    if top.get("version", str, "1.0") != "1.0":
        top.fail(f"version {top.value['version']!r} is not known to this fastbpe; upgrade it")
    model = top.part("model")
    if model is None:
        top.fail("it has no 'model'")
    check_model(model)
    steps, prefix_space = parts.pre_tokenizers(top.part("pre_tokenizer"))
    if not any(step["type"] == "ByteLevel" for step in steps):
        top.fail("no ByteLevel pre-tokenizer: only byte-level vocabularies are supported", "pre_tokenizer")
    parts.check_byte_decoder(top.part("decoder"))
    whole_piece_first = model.get("ignore_merges", bool, False)
    tokens, tables = None, None
    vocabulary = vocabulary_.check_vocabulary(model) if entries is None else entries
    added = vocabulary_.read_added_tokens(top, vocabulary)
    if entries is not None:
        strict = whole_piece_first or model.value.get("unk_token") is not None
        laid_out = entries.lay_out(vocabulary_.found_by_name(added), strict)
        if laid_out is None:
            return None
        token_bytes, token_ends, merges, misses_bytes = laid_out
        tables = {"token_bytes": token_bytes, "token_ends": token_ends}
        ends = array("I", token_ends)
        ordinary = {i for i in _ids(added, vocabulary) if i < len(ends) and ends[i] > (ends[i - 1] if i else 0)}
    else:
        assert isinstance(vocabulary, dict)
        listed = vocabulary_.read_merges(model, vocabulary)
        tokens, merges, misses_bytes = vocabulary_.lay_out(model, vocabulary, listed, added, whole_piece_first)
        ordinary = {i for i in _ids(added, vocabulary) if i < len(tokens) and tokens[i]}
    special, others = _plain_special(added, vocabulary, ordinary)
    parts.warn_of_settings(top)
    around = templates.read(top.part("post_processor"))
    unknown = model.get("unk_token", str, "")
    return Model(
        tokens=tokens,
        tables=tables,
        pattern=None,
        special_tokens=special,
        merges=merges,
        merges_rule="merges",
        whole_piece_first=whole_piece_first,
        drops_bytes=misses_bytes,
        pre_tokenizers=steps,
        normalizers=parts.normalizers(top.part("normalizer")),
        prefix_space=prefix_space,
        added_tokens=others,
        template=templates.split(around.single),
        pair_template=around.pair,
        roles={"unk": unknown} if unknown else {},
        huggingface=_kept(top, vocabulary),
    )


def _kept(top: Part, vocabulary: _Vocabulary) -> dict[str, Any]:
    kept = {key: top.value[key] for key in _KEPT if top.value.get(key) is not None}
    return kept | ({"empty_token": vocabulary.get("", 0)} if "" in vocabulary else {})


def read_with_entries(
    raw: bytes, where: str, make: Callable[[Part, _vocab_json.Entries], _Made | None]
) -> _Made | None:
    """What is made of a file, its vocabulary and its merges read in advance; None if the slow way is to look."""
    entries = _vocab_json.read(raw)
    if entries is None:
        return None
    try:
        rest = read_json(entries.rest, where)
    except FormatError:
        return None  # its place would be that of another text
    return make(Part(rest, where, ""), entries)


def read_json(data: bytes, where: str) -> Any:
    """The value that JSON holds, by way of orjson where that is installed."""
    orjson = find_orjson()
    try:
        return json.loads(data) if orjson is None else orjson.loads(data)
    except RecursionError:
        raise FormatError(f"{where}: not a tokenizer.json: its JSON is nested too deep") from None
    except ValueError as error:
        raise FormatError(f"{where}: not JSON: {error}") from None


def check_model(model: Part) -> None:
    """Refuse models of other types than BPE, and options of BPE that nothing here does."""
    kind = model.get("type", str, "BPE" if "merges" in model.value else "without a type")
    if kind != "BPE":
        model.fail(f"{kind!r} is not supported: fastbpe reads BPE models only", "type")
    for key, off in _OFF.items():
        if model.value.get(key) not in off:
            model.fail(f"{model.value[key]!r:.60} is not supported; it must be null", key)
    # They say nothing of a byte-level vocabulary, where no more than bytes can be unknown.
    for key in ("fuse_unk", "byte_fallback"):
        model.get(key, bool, False)


def _ids(added: list[AddedToken], vocabulary: _Vocabulary) -> set[int]:
    """The ids that added tokens have or may be taken for."""
    alike = {vocabulary.get(text_of(token.content.encode()), -1) for token in added}
    return {token.id for token in added} | alike - {-1}


def _plain_special(
    added: list[AddedToken], vocabulary: _Vocabulary, ordinary: Collection[int]
) -> tuple[dict[str, int], list[AddedToken]]:
    """The special tokens by name, and those of the added tokens that more must be known of.

    ordinary: those of `_ids` that are ordinary tokens'.
    """
    special, others = {}, []
    for token in added:
        if token.special:
            special[token.content] = token.id
        plain = token.special and not (token.normalized or token.lstrip or token.rstrip or token.single_word)
        if (
            not plain
            or token.id in ordinary
            or vocabulary.get(text_of(token.content.encode()), -1) in ordinary
            or vocabulary_.decoded(token.content) != token.content.encode()
        ):
            others.append(token)
    return special, others
