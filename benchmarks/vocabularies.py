"""Vocabulary of a comparison, in the form that each peer reads; nothing is downloaded."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import fastbpe
from fastbpe.formats.byte_level import text_of
from fastbpe.formats.sentencepiece import model_file
from fastbpe.model import PieceType
from fastbpe.patterns import Pattern
from peers.splitters import for_oniguruma
from texts import DATA

# Name on the command line → file, name of the pattern, special tokens that rows use (None: fastbpe knows all).
_PUBLISHED: Mapping[str, tuple[str, str, Mapping[str, int] | None]] = {
    "r50k": ("r50k_base.tiktoken", "gpt2", None),
    "p50k": ("p50k_base.tiktoken", "gpt2", None),
    "cl100k": ("cl100k_base.tiktoken", "cl100k", None),
    "o200k": ("o200k_base.tiktoken", "o200k", None),
    "llama3": ("llama3_tokenizer.model", "llama3", {"<|begin_of_text|>": 128000}),
    "llama4": ("llama4_tokenizer.model", "llama4", {"<|begin_of_text|>": 200000}),
    "qwen2": ("qwen2.tiktoken", "qwen2", {"<|endoftext|>": 151643}),
    "llama2": ("llama2_tokenizer.model", "none", {}),
    "unigram": ("sp_test_model.model", "none", {}),
    "unigram_ja": ("sp_test_ja_model.model", "none", {}),
    "wordpiece": ("../zoo/bert-chinese-wordpiece/tokenizer.json", "none", {}),
}
NAMES = tuple(_PUBLISHED)
METASPACE = "\u2581"


class Vocabulary:
    """A vocabulary: published, by its short name; a .tiktoken file and its pattern's name; a tokenizer.json."""

    def __init__(self, name_or_path: str, pattern_name: str = "cl100k") -> None:
        if name_or_path in _PUBLISHED:
            file, pattern_name, special = _PUBLISHED[name_or_path]
            self.short_name, self.path = name_or_path, DATA / "vocab" / file
        else:
            special = {}
            self.short_name, self.path = "", Path(name_or_path)
            if self.path.suffix == ".json":
                pattern_name = "none"
        if not self.path.exists():
            raise SystemExit(
                f"{self.path}: no such file; --vocab is one of {', '.join(NAMES)}, found in the folder that "
                "FASTBPE_DATA names, or the path of a .tiktoken file or a tokenizer.json"
            )
        self.argument = name_or_path
        self.name = self.path.stem
        self.pattern_name = pattern_name
        self.pattern: Pattern = fastbpe.PATTERNS[pattern_name]
        self.is_sentencepiece = self.path.read_bytes()[:1] == b"\n"  # protobuf: the tag of the first piece
        self.is_json = self.path.suffix == ".json"
        self._special = special
        self._folder = tempfile.TemporaryDirectory(prefix="fastbpe-bench-")

    @property
    def model_type(self) -> str:
        """Type of the model in a file of sentencepiece or a tokenizer.json; "" for ranks."""
        return self._loaded().model_type if self.is_sentencepiece or self.is_json else ""

    @property
    def special_tokens(self) -> Mapping[str, int]:
        return self._loaded().special_tokens if self._special is None else self._special

    def shown(self) -> str:
        """Return the repr of fastbpe's tokenizer, which includes its splitter."""
        try:
            return repr(self._loaded())
        except fastbpe.FastbpeError as error:
            return f"{self.name}, which fastbpe cannot read: {error}"

    def load(self) -> fastbpe.Tokenizer:
        """Return a fastbpe tokenizer, read from the file again."""
        if self._special is None or self.is_sentencepiece or self.is_json:  # the file holds everything
            return fastbpe.load(self.path)
        return fastbpe.load(self.path, pattern=self.pattern_name, special_tokens=self._special)

    @cache  # noqa: B019 - lives as long as the process
    def tokenizer_json(self) -> Path:
        """Return the path of the vocabulary as a tokenizer.json; merges are recovered from the ranks."""
        if self.is_json:
            return self.path
        path = Path(self._folder.name) / "tokenizer.json"
        made = self._model_as_huggingface() if self.is_sentencepiece else self._ranks_as_huggingface()
        path.write_text(json.dumps(made, ensure_ascii=False), encoding="utf-8")
        return path

    @cache  # noqa: B019 - lives as long as the process
    def _loaded(self) -> fastbpe.Tokenizer:
        return self.load()

    def _model_as_huggingface(self) -> dict[str, Any]:
        """Convert as Llama 2's published file does: any two pieces that make a third are a merge, the best score
        first."""
        model = model_file.parse(self.path.read_bytes(), str(self.path))
        pieces = [piece.decode() for piece in model.pieces]
        scores = dict(zip(pieces, memoryview(model.scores).cast("f"), strict=True))
        known = {piece: None for piece, kind in zip(pieces, model.types, strict=True) if kind == PieceType.NORMAL}
        merges = [
            [piece[:cut], piece[cut:]]
            for piece in sorted(known, key=lambda piece: -scores[piece])
            for cut in range(1, len(piece))
            if piece[:cut] in known and piece[cut:] in known
        ]
        replaced = {"type": "Replace", "pattern": {"String": " "}, "content": METASPACE}
        return {
            "version": "1.0",
            "normalizer": {
                "type": "Sequence",
                "normalizers": [{"type": "Prepend", "prepend": METASPACE}, replaced],
            },
            "decoder": {
                "type": "Sequence",
                "decoders": [
                    {"type": "Replace", "pattern": {"String": METASPACE}, "content": " "},
                    {"type": "ByteFallback"},
                    {"type": "Fuse"},
                    {"type": "Strip", "content": " ", "start": 1, "stop": 0},
                ],
            },
            "model": {
                "type": "BPE",
                "unk_token": "<unk>",
                "fuse_unk": True,
                "byte_fallback": model.trainer["byte_fallback"],
                "ignore_merges": False,
                "vocab": {piece: i for i, piece in enumerate(pieces)},
                "merges": merges,
            },
        }

    def _ranks_as_huggingface(self) -> dict[str, Any]:
        tokenizer = self._loaded()
        shown = [text_of(token) for token in tokenizer.vocab]
        patterns = (self.pattern,) if isinstance(self.pattern, str) else self.pattern or ()
        splits = [
            {
                "type": "Split",
                "pattern": {"Regex": for_oniguruma(pattern)},
                "behavior": "Isolated",
                "invert": False,
            }
            for pattern in patterns
        ]
        byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
        flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        special = self.special_tokens
        taken = set(special.values())
        return {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [{"id": token_id, "content": text, **flags} for text, token_id in special.items()],
            "normalizer": None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*splits, byte_level]},
            "post_processor": None,
            "decoder": byte_level,
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "continuing_subword_prefix": "",
                "end_of_word_suffix": "",
                "fuse_unk": False,
                "byte_fallback": False,
                "ignore_merges": True,  # a piece that is a token becomes that token, as in ranked vocabularies
                "vocab": {token: rank for rank, token in enumerate(shown) if token and rank not in taken},
                "merges": [[shown[left], shown[right]] for left, right in tokenizer.merges],
            },
        }


def published_or(vocabulary: Vocabulary, name: str) -> Vocabulary:
    """Return a published vocabulary by its short name; `vocabulary` where its file is missing."""
    return Vocabulary(name) if (DATA / "vocab" / _PUBLISHED[name][0]).exists() else vocabulary
