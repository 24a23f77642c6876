"""Write a byte-level tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from fastbpe.errors import FormatError
from fastbpe.formats.byte_level import bytes_of, text_of
from fastbpe.model import AddedToken, Model

_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


def dump(
    model: Model,
    tokens: Sequence[bytes],
    merges: Iterable[tuple[int, int]],
    pre_tokenizers: Sequence[Mapping[str, Any]],
    *,
    made: Collection[int],
    all_made: bool,
) -> bytes:
    """Return the bytes of the file.

    Args:
        pre_tokenizers: steps that split text, including ByteLevel.
        made: ids that merges make.
        all_made: merging makes every token, so the file needs no ignore_merges. Then ignore_merges is false if
            the vocabulary contains added tokens, because it would turn pieces into added tokens.

    Raises:
        FormatError: two tokens would be written as one text, an id is missing, or ignore_merges would turn text
            into an added token.
    """
    vocabulary = _vocabulary(tokens, () if model.whole_piece_first else made)
    n_ordinary = len(vocabulary)
    added = all_added_tokens(model)
    _number(vocabulary, added, model.huggingface.get("empty_token"))
    ignore_merges = model.whole_piece_first and (len(vocabulary) == n_ordinary or not all_made)
    if ignore_merges:
        _check_names([*vocabulary][n_ordinary:], added, model.huggingface.get("normalizer"))
    shown = [text_of(token) for token in tokens]
    return write_document(
        truncation=model.huggingface.get("truncation"),
        padding=model.huggingface.get("padding"),
        added_tokens=added,
        normalizer=model.huggingface.get("normalizer"),
        pre_tokenizer=model.huggingface.get("pre_tokenizer") or _sequence(pre_tokenizers),
        post_processor=model.huggingface.get("post_processor"),
        decoder=model.huggingface.get("decoder") or _BYTE_LEVEL,
        dropout=model.huggingface.get("dropout"),
        ignore_merges=ignore_merges,
        vocab=dict(sorted(vocabulary.items(), key=lambda item: item[1])),
        merges=[f"{shown[left]} {shown[right]}" for left, right in merges],
    )


#: The "model" of a file of BPE without vocabulary and merges.
BPE_DEFAULTS: Mapping[str, Any] = {
    "type": "BPE",
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
}


def write_document(**parts: Any) -> bytes:
    """Return the bytes of a file. Accepts the arguments of `document`."""
    return json.dumps(document(**parts), ensure_ascii=False, indent=2).encode()


def document(
    *,
    added_tokens: Iterable[AddedToken],
    normalizer: Any,
    pre_tokenizer: Any,
    post_processor: Any,
    decoder: Any,
    truncation: Any = None,
    padding: Any = None,
    **model: Any,
) -> dict[str, Any]:
    """Create a tokenizer.json from its parts. **model: its "model"; BPE_DEFAULTS complete one without a type."""
    return {
        "version": "1.0",
        "truncation": truncation,
        "padding": padding,
        "added_tokens": as_json(added_tokens),
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": post_processor,
        "decoder": decoder,
        "model": model if "type" in model else {**BPE_DEFAULTS, **model},
    }


def as_json(added: Iterable[AddedToken]) -> list[dict[str, Any]]:
    return [
        {"id": token.id, "content": token.content, **{flag: getattr(token, flag) for flag in _FLAGS}}
        for token in added
    ]


def _vocabulary(tokens: Sequence[bytes], made: Collection[int]) -> dict[str, int]:
    """Return text → id. Of equal tokens, one that no merge makes is written as text, not in GPT-2's characters.

    Such files exist (Command-R): no text becomes a token that is written as text. made: ids that merges make.
    """
    vocabulary: dict[str, int] = {}
    twice = []
    for token_id, token in enumerate(tokens):
        if token and vocabulary.setdefault(text_of(token), token_id) != token_id:
            twice.append((vocabulary[text_of(token)], token_id))
    for pair in twice:
        token = tokens[pair[0]]
        unreached = [token_id for token_id in pair if token_id not in made]
        text = token.decode(errors="replace")
        if len(unreached) != 1 or len(token) == 1 or bytes_of(text) is not None or "\ufffd" in text:
            raise FormatError(
                f"the ids {pair[0]} and {pair[1]} are both the token {token!r}, but a tokenizer.json can "
                "store this token only once; export this tokenizer as native"
            )
        if text in vocabulary:  # an id of an earlier pair
            first, second, third = sorted({*pair, vocabulary[text], vocabulary[text_of(token)]})
            raise FormatError(
                f"the ids {first}, {second} and {third} are all the token {token!r}, but a tokenizer.json can "
                "store the same token only twice; export this tokenizer as native"
            )
        vocabulary[text] = unreached[0]
        vocabulary[text_of(token)] = pair[1 - pair.index(unreached[0])]
    return vocabulary


def all_added_tokens(model: Model) -> list[AddedToken]:
    """List special and added tokens in the order of their ids."""
    listed = {token.content for token in model.added_tokens}
    plain = (
        AddedToken(content=name, id=token_id, special=True)
        for name, token_id in model.special_tokens.items()
        if name not in listed
    )
    return sorted((*plain, *model.added_tokens), key=lambda token: token.id)


def _number(vocabulary: dict[str, int], added: Sequence[AddedToken], empty_token: int | None) -> None:
    """Put added tokens into the vocabulary if tokenizers would give them other ids.

    tokenizers numbers added tokens outside the vocabulary from its size on.

    Raises:
        FormatError: an added token has the text of an ordinary token with another id, or an id below the greatest
            ordinary id has no token.
    """
    greatest = max(vocabulary.values())
    if empty_token is not None:
        vocabulary[""] = empty_token
    outside = [token for token in added if vocabulary.get(token.content) != token.id]
    for token in outside:
        if token.content in vocabulary:
            raise FormatError(
                f"in a tokenizer.json, the added token {token.content!r} (id {token.id}) and the token with the "
                f"id {vocabulary[token.content]} would have the same text; rename the added token, or export this "
                "tokenizer as native"
            )
    if [token.id for token in outside] != list(range(len(vocabulary), len(vocabulary) + len(outside))):
        vocabulary.update((token.content, token.id) for token in outside)
    taken = {*vocabulary.values(), *(token.id for token in outside)}
    gap = next((i for i in range(greatest) if i not in taken), None)
    if gap is not None:
        raise FormatError(
            f"no token has the id {gap}, but a tokenizer.json cannot have gaps; export this tokenizer as native"
        )


def _check_names(names: Iterable[str], added: Sequence[AddedToken], normalizer: Any) -> None:
    """Raise FormatError if a piece of text may equal a name that is in the vocabulary only to keep its id.

    tokenizers separates added tokens from the text before it splits. The rest can still contain a name: if a token
    with single_word covers or touches it within a word, if the normalizer produces it, or if it spells other text
    in GPT-2's byte characters.
    """
    tokens = {token.content: token for token in added}
    for name in names:
        piece = bytes_of(name)
        if not piece:
            continue  # the name cannot represent a piece
        text = piece.decode(errors="replace")
        is_found = text == name and not any(token.single_word for token in added)
        if "\ufffd" not in text and not (is_found and (normalizer is None or tokens[name].normalized)):
            raise FormatError(
                "the ids of the added tokens do not directly follow all other ids, so a tokenizer.json would give "
                f"the id of {name!r} to the text {text!r}, but fastbpe does not; number the added tokens after "
                "all others, without gaps, or export this tokenizer as native"
            )


def _sequence(steps: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    shown = [{**_BYTE_LEVEL, **step} if step["type"] == "ByteLevel" else step for step in steps]
    return shown[0] if len(shown) == 1 else {"type": "Sequence", "pretokenizers": shown}
