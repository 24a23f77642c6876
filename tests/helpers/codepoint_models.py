"""Code-point models: small ones written by hand or trained by sentencepiece, and published ones."""

import io
import random
import struct
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import sentencepiece

from fastbpe.formats.sentencepiece import model_file as sentencepiece_format
from fastbpe.formats.sentencepiece import protobuf, specs
from fastbpe.model import CodePointModel, pack_pieces
from fastbpe.normalization.sentencepiece_rules import compile_rules
from helpers.shared_data import data_file

PUBLISHED = {
    "llama2": "llama2_tokenizer.model",
    "mistral_v1": "mistral_v1_tokenizer.model",
    "mistral_v3": "mistral_v3_tokenizer.model",
    "bpemb": "bpemb_en_wiki_vs100000.model",
    "chinese": "sp_bpe_zh_nmt_nfkc_32k.model",
}


sentencepiece.set_min_log_level(2)


@lru_cache
def published_bytes(name: str) -> bytes:
    """Return the file of a published model as bytes."""
    return data_file("vocab", PUBLISHED[name]).read_bytes()


@lru_cache
def published_model(name: str) -> CodePointModel:
    """Read a published model with fastbpe."""
    return sentencepiece_format.parse(published_bytes(name), name)


@lru_cache
def published_processor(name: str) -> sentencepiece.SentencePieceProcessor:
    """Load the same model with sentencepiece."""
    return sentencepiece.SentencePieceProcessor(model_proto=published_bytes(name))


def trained(sentences: Sequence[str | bytes], **options: Any) -> bytes:
    """Train a BPE model with sentencepiece on these sentences and return its file."""
    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences),
        model_writer=file,
        **{"model_type": "bpe", "hard_vocab_limit": False, "minloglevel": 2, **options},
    )
    return file.getvalue()


def rules_that_cut_characters() -> bytes:
    """Return a charsmap that turns "x" into a lead byte of UTF-8, as only a damaged file does."""
    charsmap = compile_rules({"x": "y"})
    return charsmap[:-2] + b"\xe3\0"


def model_of(
    pieces: Sequence[tuple[bytes, float, int]],
    trainer: Mapping[str, Any] | None = None,
    normalizer: Mapping[str, Any] | None = None,
) -> bytes:
    """Write a BPE model of these pieces and return its file."""
    piece_bytes, piece_ends = pack_pieces(text for text, _, _ in pieces)
    return sentencepiece_format.dump(
        CodePointModel(
            piece_bytes=piece_bytes,
            piece_ends=piece_ends,
            scores=struct.pack(f"<{len(pieces)}f", *(score for _, score, _ in pieces)),
            types=bytes(type_ for _, _, type_ in pieces),
            trainer=specs.make(specs.TRAINER, {"model_type": "bpe", **(trainer or {})}),
            normalizer=specs.make(specs.NORMALIZER, normalizer or {}),
        )
    )


def piece_field(text: bytes, *fields: bytes) -> bytes:
    """Encode a piece as it stands in a file: its text, and its score and type if given."""
    return protobuf.bytes_field(1, protobuf.bytes_field(1, text) + b"".join(fields))


RULE_NAMES = ("identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf")


@lru_cache
def peer_charsmap(rule_name: str) -> bytes:
    """The precompiled charsmap of sentencepiece."""
    spec = sentencepiece.SentencePieceNormalizer(rule_name=rule_name).serialized_normalizer_spec()
    charsmap: bytes = specs.read(specs.NORMALIZER, spec)["precompiled_charsmap"]
    return charsmap


@lru_cache
def peer_rules(rule_name: str) -> dict[bytes, bytes]:
    """Decode that charsmap to its rules."""
    if rule_name == "identity":
        return {}
    rules = sentencepiece.SentencePieceNormalizer(rule_name=rule_name).decompile()
    return {source.encode(): target.encode() for source, target in rules}


# Spaces of every kind, marks, line ends, bytes that are not UTF-8, look-alikes of pieces, marks that combine.
HARD_BITS = [
    *(text.encode() for text in (" ", "  ", "\t", "\n", "\r\n", "\u3000", "\xa0", "\u200b", "\u2028")),
    *(text.encode() for text in ("▁", "▁▁", "▅", "\0", "\x01", "\x1f", "\x7f", "\x85", "\ufffd", "\ufeff")),
    *(text.encode() for text in ("a", "B", "ab", "word", "A longer text, of words.", "1", "２", "ﬁ", "ß", "İ")),
    *(text.encode() for text in ("～", "<s>", "<unk>", "<0x41>", "\u0301", "e\u0301", "日本", "ﾊﾞ", "㍿", "각")),
    *(text.encode() for text in ("\u1100\u1161\u11a8", "😀", "👩\u200d👩\u200d👧", "กำ")),
    *(b"\xff", b"\xe3", b"\xe3\x81", b"\xf0\x9f", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\x80"),
]


def hard_text(rng: random.Random, more: Sequence[bytes] = (), most: int = 12) -> bytes:
    """Join hard bits of text at random; every fifth bit comes from `more`, if that is given."""
    return b"".join(
        rng.choice(more) if more and rng.random() < 0.2 else rng.choice(HARD_BITS)
        for _ in range(rng.randrange(most))
    )
