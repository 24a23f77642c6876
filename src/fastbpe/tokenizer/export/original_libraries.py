"""Original libraries of the formats, to compare their ids with the ids of an exported tokenizer."""

from __future__ import annotations

import json
from collections.abc import Callable

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.errors import FormatError
from fastbpe.formats import gpt2, tiktoken
from fastbpe.tokenizer.export.exportable import Exportable, Files, model_of
from fastbpe.tokenizer.families import step_objects


class Owner(NamedTuple):
    """A library's name, and its function that encodes a text; special tokens are ordinary text."""

    name: str
    encode: Callable[[str], list[int]]


def owner_of(tokenizer: Exportable, files: Files, format: str) -> Owner | None:
    """Load the files with the original library of their format.

    None if the format has no such library here, it is not installed, or it cannot split as this tokenizer does.
    """
    try:
        if isinstance(files, dict):
            return _gpt2(tokenizer, files)
        if format == "sentencepiece":
            return _sentencepiece(files)
        if format == "tiktoken":
            return _tiktoken(tokenizer, files)
        if format == "huggingface":
            return _tokenizers(files.decode())
    except ImportError:
        return None
    return None


def _sentencepiece(data: bytes) -> Owner:
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=data)
    return Owner("sentencepiece", lambda text: processor.encode(text))


def _tokenizers(text: str) -> Owner:
    import tokenizers

    made = tokenizers.Tokenizer.from_str(text)
    made.encode_special_tokens = True  # as ordinary text
    if isinstance(made.model, tokenizers.models.BPE):
        made.model.dropout = None
    made.no_truncation()
    made.no_padding()
    return Owner("tokenizers", lambda text: made.encode(text, add_special_tokens=False).ids)


def _gpt2(tokenizer: Exportable, files: dict[str, bytes]) -> Owner | None:
    """Load GPT-2's files with tokenizers; None if it cannot split text as this tokenizer does."""
    from tokenizers import Regex, models, pre_tokenizers
    from tokenizers import Tokenizer as Peer

    try:
        steps = step_objects.described_splitting(model_of(tokenizer), tokenizer._family.vocabulary)
    except FormatError:
        return None
    lines = files[gpt2.MERGES_FILE].decode().splitlines()[1:]
    merges = [(left, right) for left, _, right in (line.partition(" ") for line in lines)]
    made = Peer(models.BPE(vocab=json.loads(files[gpt2.VOCAB_FILE]), merges=merges))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(step["pattern"]["Regex"]), step["behavior"].lower(), step["invert"])
            if step["type"] == "Split"
            else pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=step["use_regex"])
            for step in steps
        ]
    )
    return Owner("tokenizers", lambda text: made.encode(text, add_special_tokens=False).ids)


def _tiktoken(tokenizer: Exportable, data: bytes) -> Owner | None:
    """Load ranks with tiktoken; None if the tokenizer has several patterns, which tiktoken cannot apply."""
    import tiktoken as package

    pattern = tokenizer.pattern
    if isinstance(pattern, tuple):
        return None
    made = package.Encoding(
        "verified",
        pat_str=r"[\s\S]+" if pattern is None else pattern,
        mergeable_ranks=tiktoken.parse_ranks(data, "<bytes>"),
        special_tokens=tokenizer.special_tokens,
    )
    return Owner("tiktoken", made.encode_ordinary)
