"""Write the tokenizer.json of a character-level tokenizer: the file that was read, with the present tokens."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastbpe.errors import FormatError
from fastbpe.formats.huggingface.read import KEPT
from fastbpe.formats.huggingface.write import BPE_DEFAULTS, all_added_tokens, write_document
from fastbpe.model import AddedToken, Model


def dump(model: Model, tokens: Sequence[bytes], merges: Iterable[tuple[int, int]]) -> bytes:
    """Return the bytes of the file of a model with a `spelling`. merges: pairs; empty if it does not merge."""
    texts = [token.decode() for token in tokens]
    vocabulary = {text: i for i, text in enumerate(texts) if text}
    if "empty_token" in model.huggingface:
        vocabulary[""] = model.huggingface["empty_token"]
    vocabulary = dict(sorted(vocabulary.items(), key=lambda item: item[1]))
    described = _described(model, texts, vocabulary, merges)
    added = _checked_added(model, vocabulary, len(described["vocab"]))
    return write_document(added_tokens=added, **{name: model.huggingface.get(name) for name in KEPT}, **described)


def _checked_added(model: Model, vocabulary: Mapping[str, int], n: int) -> list[AddedToken]:
    """List the added tokens in the order of ids. Raises FormatError if tokenizers would give one another id.

    tokenizers numbers added tokens outside the vocabulary from n on.
    """
    added = all_added_tokens(model)
    following = n
    for token in added:
        if vocabulary.get(token.content, following) != token.id:
            raise FormatError(
                f"the added token {token.content!r} has the id {token.id}, but the tokenizers library would give "
                f"this token the id {vocabulary.get(token.content, following)}; export this tokenizer as native"
            )
        following += token.content not in vocabulary
    return added


def _described(
    model: Model, texts: Sequence[str], vocabulary: Mapping[str, int], merges: Iterable[tuple[int, int]]
) -> dict[str, Any]:
    """Return the "model" of the file."""
    spelling = model.spelling
    assert spelling is not None
    if spelling.kind == "Unigram":
        scores = array("d", bytes(model.scores))
        return {
            "type": "Unigram",
            "unk_id": None if spelling.unknown < 0 else spelling.unknown,
            "vocab": [[text, score] for text, score in zip(texts, scores, strict=True)],
            "byte_fallback": bool(spelling.byte_ids),
        }
    if spelling.kind != "BPE":
        made: dict[str, Any] = {"type": spelling.kind, "unk_token": spelling.unknown_token}
        if spelling.kind == "WordPiece":
            made |= {"continuing_subword_prefix": spelling.prefix, "max_input_chars_per_word": spelling.longest}
        return {**made, "vocab": vocabulary}
    return {
        **BPE_DEFAULTS,
        "dropout": model.huggingface.get("dropout"),
        "unk_token": spelling.unknown_token,
        "continuing_subword_prefix": spelling.prefix or None,
        "end_of_word_suffix": spelling.suffix or None,
        "fuse_unk": spelling.fuses,
        "byte_fallback": bool(spelling.byte_ids),
        "ignore_merges": model.whole_piece_first,
        "vocab": vocabulary,
        "merges": [[texts[left], texts[right]] for left, right in merges],
    }
