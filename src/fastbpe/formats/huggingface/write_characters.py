"""Write the tokenizer.json of a tokenizer of characters: what was read, with the tokens of today."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fastbpe.errors import FormatError
from fastbpe.formats.huggingface.write import all_added_tokens, write_document
from fastbpe.model import Model


def dump(model: Model, tokens: Sequence[bytes], merges: Iterable[tuple[int, int]]) -> bytes:
    """Return the bytes of the file.

    Args:
        model: the vocabulary, with a spelling.
        tokens: UTF-8 of the tokens by id; b"" if an id is not an ordinary token.
        merges: pairs of ids, best first.

    Raises:
        FormatError: tokenizers would give an added token another id.
    """
    spelling = model.spelling
    assert spelling is not None
    texts = [token.decode() for token in tokens]
    vocabulary = {text: i for i, text in enumerate(texts) if text}
    if "empty_token" in model.huggingface:
        vocabulary[""] = model.huggingface["empty_token"]
    added = all_added_tokens(model)
    following = len(vocabulary)
    for token in added:  # in the order of ids; tokenizers numbers those outside of the vocabulary from its size on
        if vocabulary.get(token.content, following) != token.id:
            raise FormatError(
                f"the added token {token.content!r} has the id {token.id}, and tokenizers would give it "
                f"{vocabulary.get(token.content, following)}; export it as native"
            )
        following = max(following, token.id + 1)
    kept = model.huggingface
    return write_document(
        truncation=kept.get("truncation"),
        padding=kept.get("padding"),
        added_tokens=added,
        normalizer=kept.get("normalizer"),
        pre_tokenizer=kept.get("pre_tokenizer"),
        post_processor=kept.get("post_processor"),
        decoder=kept.get("decoder"),
        unk_token=spelling.unknown_token,
        continuing_subword_prefix=spelling.prefix or None,
        end_of_word_suffix=spelling.suffix or None,
        fuse_unk=spelling.fuses,
        byte_fallback=bool(spelling.byte_ids),
        dropout=kept.get("dropout"),
        ignore_merges=model.whole_piece_first,
        vocab=dict(sorted(vocabulary.items(), key=lambda item: item[1])),
        merges=[[texts[left], texts[right]] for left, right in merges],
    )
