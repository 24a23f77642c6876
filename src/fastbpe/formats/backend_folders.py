"""Folders of GPT-SW3 and BertGeneration: a sentencepiece model that encodes the texts between added tokens.

transformers runs these classes in Python: they look for special tokens in the original text, and let sentencepiece
encode the text between them. GPT-SW3 first changes this text (`normalization.gpt_sw3_texts`). For added tokens,
see `python_backend`. `table_folders` reads most models of BertGeneration. tests/conformance/test_sw3_folders.py
and test_bert_generation_folders.py compare folders with transformers 5.24.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from fastbpe.formats import table_folders
from fastbpe.formats.atomic_files import map_file
from fastbpe.formats.folder import SPIECE
from fastbpe.formats.huggingface import named_tokens, python_backend, tokenizer_config
from fastbpe.formats.huggingface.named_tokens import Definition, NamedTokens
from fastbpe.formats.sentencepiece import model_file
from fastbpe.model import PAIR, TEXT, CodePointModel, Conventions, Model, PieceType, pack_pieces


def read(
    folder: str, config: Mapping[str, Any], class_name: str, special_tokens: Mapping[str, int] | None = None
) -> Model | CodePointModel:
    """Read the model of a folder, which has a spiece.model.

    Args and errors: as for `table_folders.read`.
    """
    where, is_sw3 = os.path.join(folder, SPIECE), class_name == "GPTSw3"
    fail = python_backend.failing(where)
    python_backend.refuse_special_tokens(special_tokens, where)
    if config.get("sp_model_kwargs"):
        fail("sp_model_kwargs in tokenizer_config.json may make ids random")
    if not config.get("legacy", True):
        fail("with legacy=false in tokenizer_config.json, the class changes the options of the .model")
    model = model_file.parse(map_file(where), where)
    if is_sw3 and not model.trainer["byte_fallback"]:
        fail("the class GPTSw3Tokenizer is supported for models with byte fallback only")
    named = python_backend.read_named(folder, {} if is_sw3 else table_folders.CLASSES[class_name].roles)
    if is_sw3:
        named = _with_roles(named, "gpt-sw3-7b" in folder)
    model_pieces = [piece.decode("utf-8", "surrogateescape") for piece in model.pieces]
    ids = {piece: i for i, piece in enumerate(model_pieces)}
    added = python_backend.added_tokens(named, ids, fail, may_strip=True)
    pieces = python_backend.with_added(model_pieces, added, fail)
    types = bytearray(model.types)
    for token in added:
        if token.id >= len(model_pieces):
            types.append(PieceType.CONTROL if token.special else PieceType.USER_DEFINED)
        # sentencepiece decodes a control piece to nothing, and drops a space after it at the start of a text.
        elif not token.special and types[token.id] != PieceType.NORMAL:
            fail(
                f"the token {token.content!r:.60} is not special, but its piece in the .model is not of the type "
                "NORMAL"
            )
    piece_bytes, piece_ends = pack_pieces(piece.encode("utf-8", "surrogateescape") for piece in pieces)
    made = model._replace(
        piece_bytes=piece_bytes,
        piece_ends=piece_ends,
        scores=model.scores + bytes(4 * (len(pieces) - len(model.types))),
        types=bytes(types),
        serialized=b"",
        added_tokens=added,
        template=((), ()),
        pair_template=(TEXT, PAIR),
        conventions=Conventions(decoder="GPTSw3" if is_sw3 else "SentencePieceBackend"),
    )
    return tokenizer_config.with_own_tokens(made, folder, named, is_bare=False)


def _with_roles(named: NamedTokens, is_7b: bool) -> NamedTokens:
    """Add the tokens of roles that no file names. gpt-sw3-7b, known by its path, has other BOS and PAD tokens."""
    found = {"eos_token": "<|endoftext|>", "unk_token": "<unk>"}
    found |= {name: token.content for name, token in named.named.items() if name in found}
    found = {
        "bos_token": found["eos_token"] if is_7b else "<s>",
        **found,
        "pad_token": found["unk_token"] if is_7b else "<pad>",
    }
    default = {name: Definition(content, is_text=True) for name, content in found.items()}
    return named._replace(named=named_tokens.in_order({**default, **named.named}))
