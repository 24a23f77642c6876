"""Encodings that OpenAI publishes: addresses of their files, SHA-256, patterns and special tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.formats import tiktoken
from fastbpe.known_vocabularies import GPT2_IDS, GPT2_MERGES, SHARED_ID, VOCABULARIES, KnownFile
from fastbpe.model import Model
from fastbpe.patterns import PATTERNS
from fastbpe.tiktoken.load import data_gym_to_mergeable_bpe_ranks, load_tiktoken_bpe, read_file_cached

_GPT2_MERGES, _GPT2_IDS = str(GPT2_MERGES.url), str(GPT2_IDS.url)


class Published(NamedTuple):
    """One encoding. Calling it returns the arguments of `Encoding`, as the constructors of plug-ins do.

    name: name of the encoding.
    pattern: name of the split pattern.
    special_tokens: name → id.
    file: its .tiktoken file. GPT-2 has the tokens of r50k_base, but tiktoken reads them from two other files.
    n_vocab: explicit_n_vocab of `Encoding`.
    """

    name: str
    pattern: str
    special_tokens: Mapping[str, int]
    file: KnownFile
    n_vocab: int | None = None

    def __call__(self) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "name": self.name,
            "pat_str": PATTERNS[self.pattern],
            "mergeable_ranks": self._ranks(),
            "special_tokens": dict(self.special_tokens),
        }
        return arguments if self.n_vocab is None else arguments | {"explicit_n_vocab": self.n_vocab}

    def _copy(self) -> bytes | None:
        """Read a local copy of GPT-2's .tiktoken file; None: it is not on this machine, or this is not GPT-2."""
        from fastbpe.published import find  # here: read_file_cached finds the copies of other encodings

        return find.published_copy(str(self.file.url), self.file.sha256) if self.name == "gpt2" else None

    def _ranks(self) -> dict[bytes, int]:
        if self.name == "gpt2" and self._copy() is None:
            return data_gym_to_mergeable_bpe_ranks(_GPT2_MERGES, _GPT2_IDS, GPT2_MERGES.sha256, GPT2_IDS.sha256)
        return load_tiktoken_bpe(str(self.file.url), self.file.sha256)

    def model(self) -> Model:
        """Return the encoding as a model. This is faster, because it does not build a dict of all ranks."""
        url = str(self.file.url)
        data = self._copy()
        if self.name == "gpt2" and data is None:
            merges = read_file_cached(_GPT2_MERGES, GPT2_MERGES.sha256)
            ids = read_file_cached(_GPT2_IDS, GPT2_IDS.sha256)
            where = _GPT2_IDS, _GPT2_MERGES
            from fastbpe.formats import gpt2  # here: only this encoding needs it

            model = gpt2.parse(ids, merges, where, pattern=self.pattern, special_tokens=self.special_tokens)
        else:
            data = read_file_cached(url, self.file.sha256) if data is None else data
            model = tiktoken.parse(data, url, pattern=self.pattern, special_tokens=self.special_tokens)
        return model._replace(name=self.name, pattern=PATTERNS[self.pattern])


def _published(name: str, n_vocab: int | None = None) -> Published:
    known = VOCABULARIES[name]
    # In tiktoken, this id has two names; fastbpe.load gives it one.
    shared = {f"<|reserved_{SHARED_ID}|>": SHARED_ID} if name == "o200k_harmony" else {}
    return Published(name, known.pattern, known.special_tokens() | shared, known.file, n_vocab)


#: Name → function that returns the arguments of `Encoding`.
ENCODING_CONSTRUCTORS: dict[str, Published] = {
    encoding.name: encoding
    for encoding in (
        _published("gpt2", n_vocab=50257),
        _published("r50k_base", n_vocab=50257),
        _published("p50k_base", n_vocab=50281),
        _published("p50k_edit"),
        _published("cl100k_base"),
        _published("o200k_base"),
        _published("o200k_harmony"),
    )
}
