"""convert_to_flatbuffer against sentencepiece's: bytes of files, errors."""

import math
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import sentencepiece

import fastbpe.sentencepiece as drop_in
from fastbpe.formats.sentencepiece import protobuf
from fastbpe.sentencepiece.sentencepiece_model_pb2 import ModelProto
from helpers.codepoint_models import hard_text, trained
from helpers.sampling import FULL
from helpers.unwritable_files import refuse_writing

SEED = 2026112860
KINDS = ("bpe", "unigram", "word", "char")
BUILTIN = (ValueError, TypeError, RuntimeError, OSError)


def random_model(kind: str, rng: random.Random) -> bytes:
    """Return the file of a model that sentencepiece learned with random options."""
    texts = [hard_text(rng) for _ in range(40)] + [
        b"the cat sat on the mat",
        "a tall tale 日本 日本語".encode(),
    ] * 3
    options: dict[str, Any] = {"byte_fallback": rng.random() < 0.4} if kind in ("bpe", "unigram") else {}
    if rng.random() < 0.5:
        options["user_defined_symbols"] = rng.choice((["ab", "abc"], ["<sep>", "the"], ["日本", "a"]))
    return trained(
        [text for text in texts if b"\0" not in text],
        model_type=kind,
        vocab_size=rng.choice((500, 800)),
        normalization_rule_name=rng.choice(("identity", "nmt_nfkc")),
        treat_whitespace_as_suffix=rng.random() < 0.3,
        add_dummy_prefix=rng.random() < 0.7,
        remove_extra_whitespaces=rng.random() < 0.7,
        pad_id=rng.choice((-1, 3)),
        **options,
    )


def converted(module: Any, **arguments: Any) -> Any:
    """Return the bytes, or the builtin class of the error."""
    try:
        return module.convert_to_flatbuffer(**arguments)
    except Exception as error:
        return next(builtin for builtin in BUILTIN if isinstance(error, builtin))


class Piece(NamedTuple):
    text: bytes
    score: float
    type: int

    def message(self) -> bytes:
        score = protobuf.fixed32_field(2, struct.pack("<f", self.score))
        fields = protobuf.bytes_field(1, self.text) + score + protobuf.varint_field(3, self.type)
        return protobuf.bytes_field(1, fields)


def pieces_of(model: bytes) -> list[Piece]:
    proto = ModelProto.FromString(model)
    return [
        Piece(piece.piece.encode("utf-8", "surrogateescape"), piece.score, piece.type) for piece in proto.pieces
    ]


def model_of(pieces: list[Piece], trainer: bytes | None, normalizer: bytes | None) -> bytes:
    data = b"".join(piece.message() for piece in pieces)
    for number, message in ((2, trainer), (3, normalizer)):
        data += b"" if message is None else protobuf.bytes_field(number, message)
    return data


SCORES = (0.0, -1.5, math.nan, math.inf, -math.inf, 3e9, -2147483520.0, -0.7, 5.0)
TEXTS = (
    b"",
    b"a\0b",
    b"\0",
    b"x" * 4096,
    b"x" * 4097,
    "é".encode() * 100,
    b"z z",
    "▁▁a".encode(),
    b"<0x00>",
    b"<s>",
    b"\xff",
)


def changed(rng: random.Random, model: bytes) -> bytes:
    """Return a model with a few random changes: many are refused."""
    proto, pieces = ModelProto.FromString(model), pieces_of(model)
    trainer: bytes | None = proto.trainer_spec.SerializeToString()
    normalizer: bytes | None = proto.normalizer_spec.SerializeToString()
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        i, kind = rng.randrange(len(pieces)), rng.randrange(10)
        if kind == 0:
            pieces[i] = pieces[i]._replace(type=rng.randrange(1, 7))
        elif kind == 1:
            pieces[i] = pieces[i]._replace(score=rng.choice(SCORES))
        elif kind == 2:
            pieces[i] = pieces[i]._replace(text=rng.choice((*TEXTS, pieces[i].text * 2)))
        elif kind == 3 and trainer is not None:
            unk = rng.choice((-1, 0, 1, 5, 10**6, i))
            trainer += rng.choice(
                (protobuf.varint_field(40, unk & (1 << 64) - 1), protobuf.varint_field(3, rng.randrange(1, 5)))
            )
        elif kind == 4 and trainer is not None:
            trainer += protobuf.bytes_field(
                rng.choice((44, 46, 47, 48)), rng.choice((b"", b"<s>", b"</s>", b"the"))
            )
        elif kind == 5:
            trainer, normalizer = rng.choice(((None, normalizer), (trainer, None)))
        elif kind == 6 and normalizer is not None:
            charsmap = rng.choice(
                (b"", b"a", b"\0\4\0\0" + bytes(1024) + b"x\0", proto.normalizer_spec.precompiled_charsmap[:-1])
            )
            normalizer += protobuf.bytes_field(2, charsmap)
        elif kind == 7:
            for at in rng.sample(range(len(pieces)), min(20, len(pieces))):
                pieces[at] = pieces[at]._replace(score=-rng.randrange(50) / rng.choice((1, 2, 3)))
        elif kind == 8:
            text = "".join(rng.choice("abcdé日▁ ") for _ in range(rng.randrange(1, 60))).encode()
            pieces.append(Piece(text, -rng.randrange(999), rng.choice((1, 1, 4, 5))))
        elif kind == 9:
            del pieces[rng.randrange(1, len(pieces) + 1) :]
    return model_of(pieces, trainer, normalizer)


@pytest.mark.daily
@pytest.mark.parametrize("kind", KINDS)
def test_converts_to_the_bytes_of_sentencepiece_or_refuses_as_it_does(kind: str) -> None:
    rng = random.Random(f"{SEED} {kind}")
    n_bytes = 0
    for at in range(400 if FULL else 60):
        if at % 20 == 0:
            model = random_model(kind, rng)
        data = changed(rng, model)
        options = {
            name: rng.random() < 0.5
            for name in ("skip_char_bigrams", "treat_null_byte_as_unused", "allow_unsupported_model_type")
        }
        expected = converted(sentencepiece, serialized_model_proto=data, **options)
        assert converted(drop_in, serialized_model_proto=data, **options) == expected
        n_bytes += isinstance(expected, bytes)
    assert n_bytes > 10


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_damaged_charsmap_is_refused_as_in_sentencepiece(kind: str) -> None:
    model = random_model(kind, random.Random(SEED))
    proto, pieces = ModelProto.FromString(model), pieces_of(model)
    nodes = struct.pack("<I", 1 << 10) + bytes(4)  # the root, with its children from unit 1 on, and one of them
    charsmaps = [
        b"\0\4\0\0" + bytes(5),  # less than the trie
        b"\0\4\0\0" + nodes + bytes(1016),  # no replacements
        b"\0\4\0\0" + nodes + bytes(1016) + b"x\0",
        b"\0\4\0\0" + struct.pack("<I", 1 << 31) + bytes(1020) + b"x\0",  # the root is a value
        b"\0\4\0\0" + struct.pack("<II", 1 << 10, 1 << 31 | 2) + bytes(1016) + b"x\0",  # a value beyond the end
        b"\0\4\0\0" + struct.pack("<II", 1 << 10, 1 << 20) + bytes(1016) + b"x\0",  # children beyond the end
        b"\1\4\0\0" + nodes + bytes(1017) + b"x\0",
        b"\0\4\0\0" + nodes + bytes(1016) + b"x",
    ]
    for charsmap in charsmaps:
        normalizer = proto.normalizer_spec.SerializeToString() + protobuf.bytes_field(2, charsmap)
        data = model_of(pieces, proto.trainer_spec.SerializeToString(), normalizer)
        expected = converted(sentencepiece, serialized_model_proto=data)
        assert converted(drop_in, serialized_model_proto=data) == expected, charsmap


def test_reads_and_writes_files(tmp_path: Path) -> None:
    model = random_model("bpe", random.Random(SEED))
    (tmp_path / "m.model").write_bytes(model)
    data = sentencepiece.convert_to_flatbuffer(serialized_model_proto=model)
    assert drop_in.convert_to_flatbuffer(model_file=tmp_path / "m.model") == data
    assert drop_in.convert_to_flatbuffer(model_proto=ModelProto.FromString(model)) == data
    assert drop_in.ConvertToFlatbuffer(model_proto=model, output_file=tmp_path / "m.spm.fb") is None
    assert (tmp_path / "m.spm.fb").read_bytes() == data


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"model_file": "m.model", "model_proto": b""},
        {"model_file": ""},
        {"model_file": "absent.model"},
        {"model_file": __file__},
        {"model_proto": b"", "output_file": ""},
        {"model_proto": 5},
        {"model_proto": b""},
        {"serialized_model_proto": "text"},
        {"serialized_model_proto": b"\xff"},
        {"serialized_model_proto": bytearray()},
    ],
)
def test_wrong_arguments_fail_as_in_sentencepiece(arguments: dict[str, Any]) -> None:
    expected = converted(sentencepiece, **arguments)
    assert isinstance(expected, type)
    assert converted(drop_in, **arguments) == expected


def test_read_only_output_is_kept_as_in_sentencepiece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked as another user, sentencepiece raises RuntimeError: PERMISSION_DENIED: "m.fb": Permission denied."""
    for name in ("m.fb", "m.model"):
        (tmp_path / name).write_bytes(b"old")
        refuse_writing(monkeypatch, name)
    calls: list[Callable[[], object]] = [
        lambda: drop_in.convert_to_flatbuffer(
            model_proto=random_model("bpe", random.Random(SEED)), output_file=tmp_path / "m.fb"
        ),
        lambda: drop_in.SentencePieceTrainer.train(
            sentence_iterator=iter(["a b c d"] * 9),
            model_prefix=str(tmp_path / "m"),
            model_type="char",
            vocab_size=8,
        ),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match=r'PERMISSION_DENIED: ".*/m\.(fb|model)": Permission denied'):
            call()
    assert {path.read_bytes() for path in tmp_path.iterdir()} == {b"old"}


def test_an_output_that_cannot_be_written_fails_as_in_sentencepiece(tmp_path: Path) -> None:
    model = random_model("unigram", random.Random(SEED))
    for module in (sentencepiece, drop_in):
        with pytest.raises(RuntimeError):
            module.convert_to_flatbuffer(model_proto=model, output_file=tmp_path / "absent" / "m.fb")
