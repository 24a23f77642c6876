"""The encodings that OpenAI publishes: where their files are, the files' SHA-256, patterns and special tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from fastbpe.formats import gpt2, tiktoken
from fastbpe.model import Model
from fastbpe.patterns import PATTERNS
from fastbpe.tiktoken.load import data_gym_to_mergeable_bpe_ranks, load_tiktoken_bpe, read_file_cached

_SITE = "https://openaipublic.blob.core.windows.net"
_SHA256 = {
    "r50k_base": "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
    "p50k_base": "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
_GPT2_MERGES = f"{_SITE}/gpt-2/encodings/main/vocab.bpe"
_GPT2_IDS = f"{_SITE}/gpt-2/encodings/main/encoder.json"
_GPT2_MERGES_SHA256 = "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"
_GPT2_IDS_SHA256 = "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"

_END = "<|endoftext|>"
_GPT2_SPECIAL = {_END: 50256}
_CL100K_SPECIAL = {
    _END: 100257,
    "<|fim_prefix|>": 100258,
    "<|fim_middle|>": 100259,
    "<|fim_suffix|>": 100260,
    "<|endofprompt|>": 100276,
}
_P50K_EDIT_SPECIAL = {"<|fim_prefix|>": 50281, "<|fim_middle|>": 50282, "<|fim_suffix|>": 50283}
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
_HARMONY_SPECIAL = {f"<|{_HARMONY_NAMES.get(i, f'reserved_{i}')}|>": i for i in range(199998, 201088)}


@dataclass(frozen=True, kw_only=True)
class Published:
    """One encoding; called, it gives the arguments of Encoding, as constructors of plug-ins do.

    file: the name of its .tiktoken file; None: it is in GPT-2's two files.
    """

    name: str
    pattern: str
    special_tokens: Mapping[str, int]
    file: str | None
    n_vocab: int | None = None

    def __call__(self) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "name": self.name,
            "pat_str": PATTERNS[self.pattern],
            "mergeable_ranks": self._ranks(),
            "special_tokens": dict(self.special_tokens),
        }
        return arguments if self.n_vocab is None else arguments | {"explicit_n_vocab": self.n_vocab}

    def _ranks(self) -> dict[bytes, int]:
        if self.file is None:
            return data_gym_to_mergeable_bpe_ranks(_GPT2_MERGES, _GPT2_IDS, _GPT2_MERGES_SHA256, _GPT2_IDS_SHA256)
        return load_tiktoken_bpe(_url(self.file), _SHA256[self.file])

    def model(self) -> Model:
        """The same, read in a fifth of the time, as nobody needs a dict of all ranks."""
        if self.file is None:
            merges = read_file_cached(_GPT2_MERGES, _GPT2_MERGES_SHA256)
            ids = read_file_cached(_GPT2_IDS, _GPT2_IDS_SHA256)
            where = _GPT2_IDS, _GPT2_MERGES
            model = gpt2.parse(ids, merges, where, pattern=self.pattern, special_tokens=self.special_tokens)
        else:
            url = _url(self.file)
            data = read_file_cached(url, _SHA256[self.file])
            model = tiktoken.parse(data, url, pattern=self.pattern, special_tokens=self.special_tokens)
        return replace(model, name=self.name, pattern=PATTERNS[self.pattern])


def _url(file: str) -> str:
    return f"{_SITE}/encodings/{file}.tiktoken"


def _of_file(name: str, pattern: str, special_tokens: Mapping[str, int], **others: Any) -> Published:
    return Published(name=name, pattern=pattern, special_tokens=special_tokens, **{"file": name} | others)


#: Name to what makes the arguments of `Encoding`.
ENCODING_CONSTRUCTORS: dict[str, Published] = {
    encoding.name: encoding
    for encoding in (
        _of_file("gpt2", "gpt2", _GPT2_SPECIAL, file=None, n_vocab=50257),
        _of_file("r50k_base", "gpt2", _GPT2_SPECIAL, n_vocab=50257),
        _of_file("p50k_base", "gpt2", _GPT2_SPECIAL, n_vocab=50281),
        _of_file("p50k_edit", "gpt2", _GPT2_SPECIAL | _P50K_EDIT_SPECIAL, file="p50k_base"),
        _of_file("cl100k_base", "cl100k", _CL100K_SPECIAL),
        _of_file("o200k_base", "o200k", _O200K_SPECIAL),
        _of_file("o200k_harmony", "o200k", _O200K_SPECIAL | _HARMONY_SPECIAL, file="o200k_base"),
    )
}
