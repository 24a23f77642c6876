"""Any tokenizer.json with a BPE model: base symbols are the characters of the file.

tokenizers runs every file in this way. `read` and `read_llama` recognise the two kinds that the core runs faster,
as bytes, and as code points with U+2581 for spaces; this module reads all others. It refuses the files that
tokenizers refuses, and a few more (docs/formats.md).
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

from fastbpe.formats.huggingface import _vocab_json, step_parts, templates
from fastbpe.formats.huggingface.byte_vocabulary import (
    Vocabulary,
    byte_ids,
    check_vocabulary,
    read_added_tokens,
    read_merges,
    texts_by_id,
)
from fastbpe.formats.huggingface.decoder_json import flattened
from fastbpe.formats.huggingface.named_tokens import NamedTokens
from fastbpe.formats.huggingface.read import check_bpe, kept_parts_of, read_model, with_special
from fastbpe.formats.huggingface.step_parts import Part
from fastbpe.model import AddedToken, Buffer, Model, Spelling, pack_merges, pack_pieces


def parse(
    data: Buffer,
    where: str,
    *,
    special_tokens: Mapping[str, int] | None = None,
    named: NamedTokens | None = None,
    entries: _vocab_json.Entries | None = None,
) -> Model:
    """Read the model in a file's bytes. Accepts the arguments of `read.parse`.

    Raises:
        FormatError: a damaged file, or one that tokenizers or this module refuses.
        WholeFileNeeded: as `read.parse`.
    """
    return with_special(read_model(data, where, named, _model, entries), special_tokens)


def _model(top: Part, named: NamedTokens | None, entries: _vocab_json.Entries | None) -> Model | None:
    """Create the model of a parsed file, as `read._model`."""
    model = top.needed("model")
    check_bpe(model)
    prefix = model.get("continuing_subword_prefix", str, "")
    vocabulary = check_vocabulary(model) if entries is None else entries
    added = read_added_tokens(top, vocabulary, named)
    if isinstance(vocabulary, dict):
        tokens = pack_pieces(map(str.encode, texts_by_id(vocabulary)))
        merges = pack_merges(read_merges(model, vocabulary, prefix.encode()))
    else:
        laid_out = None if prefix else vocabulary.pieces()
        if laid_out is None:
            return None
        tokens, merges = laid_out[:2], laid_out[2]
    unknown = model.get("unk_token", str, "")
    spelling = Spelling(
        prefix=prefix,
        suffix=model.get("end_of_word_suffix", str, ""),
        unknown_token=None if model.value.get("unk_token") is None else unknown,
        unknown=vocabulary.get(unknown, -1),
        fuses=model.get("fuse_unk", bool, False),
        byte_ids=byte_ids(vocabulary) if model.get("byte_fallback", bool, False) else (),
    )
    without_merges = model_of(top, vocabulary, added, tokens, spelling)
    return without_merges._replace(merges=merges, whole_piece_first=model.get("ignore_merges", bool, False))


def model_of(
    top: Part, vocabulary: Vocabulary, added: Sequence[AddedToken], tokens: tuple[bytes, bytes], spelling: Spelling
) -> Model:
    """Create the model of a parsed file. The caller adds its merges.

    tokens: bytes and ends of the tokens, by id.
    """
    ends = array("I", tokens[1])
    special, others = {}, []
    for token in added:
        is_ordinary = token.id < len(ends) and ends[token.id] > (ends[token.id - 1] if token.id else 0)
        if token.special:
            special[token.content] = token.id
        flags = token.normalized or token.lstrip or token.rstrip or token.single_word
        if not token.special or is_ordinary or flags:
            others.append(token)
    step_parts.warn_of_settings(top)
    flattened(top.value.get("decoder"), f"{top.where}: decoder")  # raises if tokenizers refuses it
    around = templates.read(top)
    unknown = spelling.unknown_token
    return Model(
        tokens=None,
        tables={"token_bytes": tokens[0], "token_ends": tokens[1]},
        pattern=None,
        special_tokens=special,
        merges_rule="merges",
        whole_piece_first=False,
        pre_tokenizers=step_parts.any_pre_tokenizers(top.part("pre_tokenizer")),
        normalizers=step_parts.normalizers(top.part("normalizer")),
        added_tokens=others,
        template=templates.split(around.single),
        pair_template=around.pair,
        roles={"unk": unknown} if unknown is not None and spelling.unknown >= 0 else {},
        huggingface=kept_parts_of(top, vocabulary),
        spelling=spelling,
    )
