"""The encodings that OpenAI publishes: where their files are, the files' SHA-256, patterns and special tokens."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from fastbpe.patterns import PATTERNS
from fastbpe.tiktoken.load import data_gym_to_mergeable_bpe_ranks, load_tiktoken_bpe

_SITE = "https://openaipublic.blob.core.windows.net"
_SHA256 = {
    "r50k_base": "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
    "p50k_base": "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
_MERGES_SHA256 = "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"
_ENCODER_SHA256 = "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"

_END = "<|endoftext|>"
_GPT2_SPECIAL = {_END: 50256}
_CL100K_SPECIAL = {
    _END: 100257,
    "<|fim_prefix|>": 100258,
    "<|fim_middle|>": 100259,
    "<|fim_suffix|>": 100260,
    "<|endofprompt|>": 100276,
}
_O200K_SPECIAL = {_END: 199999, "<|endofprompt|>": 200018}
_HARMONY_NAMES = {
    199998: "startoftext",
    199999: "endoftext",
    200002: "return",
    200003: "constrain",
    200005: "channel",
    200006: "start",
    200007: "end",
    200008: "message",
    200012: "call",
}
_HARMONY_IDS = range(199998, 201088)


def _arguments(
    name: str,
    pattern: str,
    special_tokens: dict[str, int],
    *,
    file: str | None = None,
    n_vocab: int | None = None,
) -> dict[str, Any]:
    """The arguments of Encoding for a vocabulary in a .tiktoken file, which has its name if no other is given."""
    file = file or name
    ranks = load_tiktoken_bpe(f"{_SITE}/encodings/{file}.tiktoken", _SHA256[file])
    return _with_ranks(name, pattern, special_tokens, ranks, n_vocab)


def _with_ranks(
    name: str, pattern: str, special_tokens: dict[str, int], ranks: dict[bytes, int], n_vocab: int | None = None
) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "name": name,
        "pat_str": PATTERNS[pattern],
        "mergeable_ranks": ranks,
        "special_tokens": dict(special_tokens),
    }
    return arguments if n_vocab is None else arguments | {"explicit_n_vocab": n_vocab}


def _gpt2() -> dict[str, Any]:
    folder = f"{_SITE}/gpt-2/encodings/main"
    ranks = data_gym_to_mergeable_bpe_ranks(
        f"{folder}/vocab.bpe", f"{folder}/encoder.json", _MERGES_SHA256, _ENCODER_SHA256
    )
    return _with_ranks("gpt2", "gpt2", _GPT2_SPECIAL, ranks, 50257)


def _harmony_special() -> dict[str, int]:
    return _O200K_SPECIAL | {f"<|{_HARMONY_NAMES.get(i, f'reserved_{i}')}|>": i for i in _HARMONY_IDS}


#: Name to what makes the arguments of `Encoding`.
ENCODING_CONSTRUCTORS: dict[str, Callable[[], dict[str, Any]]] = {
    "gpt2": _gpt2,
    "r50k_base": partial(_arguments, "r50k_base", "gpt2", _GPT2_SPECIAL, n_vocab=50257),
    "p50k_base": partial(_arguments, "p50k_base", "gpt2", _GPT2_SPECIAL, n_vocab=50281),
    "p50k_edit": partial(
        _arguments,
        "p50k_edit",
        "gpt2",
        _GPT2_SPECIAL | {"<|fim_prefix|>": 50281, "<|fim_middle|>": 50282, "<|fim_suffix|>": 50283},
        file="p50k_base",
    ),
    "cl100k_base": partial(_arguments, "cl100k_base", "cl100k", _CL100K_SPECIAL),
    "o200k_base": partial(_arguments, "o200k_base", "o200k", _O200K_SPECIAL),
    "o200k_harmony": partial(_arguments, "o200k_harmony", "o200k", _harmony_special(), file="o200k_base"),
}
