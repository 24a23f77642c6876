"""The `.model` format: round trips, sentencepiece reading fastbpe's files, and every kind of damage."""

import random
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

import fastbpe
from fastbpe.errors import FormatError
from fastbpe.formats import limits
from fastbpe.formats.sentencepiece import model_file as sentencepiece_format
from fastbpe.formats.sentencepiece import piece_messages, protobuf
from fastbpe.formats.sentencepiece.protobuf import bytes_field, fixed32_field, varint, varint_field
from fastbpe.model import PieceType, pack_pieces
from helpers.codepoint_models import PUBLISHED, model_of, piece_field, published_bytes, trained
from helpers.shared_data import data_file

UNK = piece_field(b"<unk>", fixed32_field(2, bytes(4)), varint_field(3, PieceType.UNKNOWN))
A = piece_field(b"a", fixed32_field(2, bytes(4)))
INFINITY = struct.pack("<f", float("inf"))
BPE = bytes_field(2, varint_field(3, 2))
ALL_BYTES = b"".join(
    piece_field(b"<0x%02X>" % byte, fixed32_field(2, bytes(4)), varint_field(3, PieceType.BYTE))
    for byte in range(256)
)
FALLBACK = bytes_field(2, varint_field(3, 2) + varint_field(35, 1))

GOOD = {
    "plain": UNK + A + BPE,
    "spec before pieces": BPE + UNK + A,
    "spec in two parts": UNK + A + BPE + bytes_field(2, varint_field(35, 0)),
    "no score": UNK + piece_field(b"a") + BPE,
    "type before score": UNK + piece_field(b"a", varint_field(3, 3), fixed32_field(2, bytes(4))) + BPE,
    "a type from the future": UNK + piece_field(b"a", varint_field(3, 7)) + BPE,
    "a type of another wire type": UNK + piece_field(b"a", fixed32_field(3, bytes(4))) + BPE,
    "a piece with an unknown field": UNK + piece_field(b"a", bytes_field(9, b"extra")) + BPE,
    "text twice": UNK + piece_field(b"b", bytes_field(1, b"a")) + BPE,
    "a long piece": UNK + piece_field(b"a" * 7999, fixed32_field(2, bytes(4))) + BPE,
    "no UTF-8": UNK + piece_field(b"\xff\xfe") + BPE,
    "not a number": UNK + piece_field(b"a", fixed32_field(2, struct.pack("<f", float("nan")))) + BPE,
    "pieces as a number": UNK + A + varint_field(1, 5) + BPE,
    "unknown fields": UNK + A + BPE + varint_field(300, 5) + bytes_field(301, b"x") + fixed32_field(7, b"1234"),
    "a group": UNK + A + BPE + varint(10 << 3 | 3) + varint_field(1, 1) + varint(10 << 3 | 4),
    "overlong numbers": UNK + A + BPE + b"\xd0\x80\x80\x80\x00\x01" + b"\x50" + b"\xff" * 9 + b"\x7f",
    "self-test data": UNK + A + BPE + bytes_field(4, b"\xff\xff"),
    "bytes": UNK + ALL_BYTES + FALLBACK,
    "bytes and no unknown": ALL_BYTES + FALLBACK,
    "a denormalizer": UNK + A + BPE + bytes_field(5, varint_field(3, 0)),
    "characters": UNK + A + bytes_field(2, varint_field(3, 4)),
}
BAD = {
    "nothing": (b"\x00", "not a field number"),
    "no pieces": (BPE, "contains no pieces"),
    "no unknown": (A + BPE, "no piece is of type UNKNOWN"),
    "two unknowns": (UNK + piece_field(b"u", varint_field(3, 2)) + BPE, "both of type UNKNOWN"),
    "a piece twice": (UNK + A + A + BPE, "pieces 1 and 2 are both b'a'"),
    "a control twice": (UNK + A + piece_field(b"a", varint_field(3, 3)) + BPE, "both b'a'"),
    "an empty piece": (UNK + piece_field(b"", fixed32_field(2, bytes(4))) + BPE, "piece 1 is empty"),
    "a NUL": (UNK + piece_field(b"a\0b", fixed32_field(2, bytes(4))) + BPE, "piece 1, .* contains a NUL"),
    "bytes without fallback": (UNK + ALL_BYTES + BPE, "byte_fallback is false"),
    "fallback without bytes": (UNK + A + FALLBACK, "lacks 256 of the 256 pieces of type BYTE, such as <0x00>"),
    "a byte piece with a wrong name": (
        UNK + ALL_BYTES + piece_field(b"<0xaa>", varint_field(3, 6)) + FALLBACK,
        "<0xaa>",
    ),
    "a piece too long": (UNK + piece_field(b"a" * 8000) + BPE, "piece 1 has 8000 bytes"),
    "field 0": (UNK + A + BPE + b"\x02\x00", "not a field number"),
    "a tag of six bytes": (UNK + A + BPE + b"\xd0\x80\x80\x80\x80\x00\x01", "more than 5 bytes"),
    "a wire type that does not exist": (UNK + A + BPE + b"\x56\x01", "not a wire type"),
    "a group without end": (UNK + A + BPE + b"\x53", "does not end"),
    "an end without group": (UNK + A + BPE + b"\x54", "did not begin"),
    "a deep group": (UNK + A + BPE + b"\x53" * 5000 + b"\x54" * 5000, "groups within groups"),
    "2**31 as a length": (UNK + A + BPE + b"\x52" + varint(1 << 31), "beyond the end"),
    "2**63 as a length": (UNK + A + BPE + b"\x0a" + varint(1 << 63), "more than 5 bytes"),
    "2**31 as a length within a piece": (bytes_field(1, b"\x0a" + varint(1 << 31)) + BPE, "beyond the end"),
    "a number of eleven bytes": (UNK + A + BPE + b"\x50" + b"\xff" * 10 + b"\x01", "more than 10 bytes"),
    "halves of a spec": (UNK + A + bytes_field(2, b"\x18") + bytes_field(2, b"\x02"), "ends within a number"),
    "unigram without pieces": (UNK, "no pieces are loaded"),
    "unigram with an infinite score": (UNK + piece_field(b"a", fixed32_field(2, INFINITY)), "NaN or Inf"),
    "word": (UNK + A + bytes_field(2, varint_field(3, 3)), "of type word"),
}


def small_model() -> bytes:
    return model_of(
        [
            (b"<unk>", 0, PieceType.UNKNOWN),
            (b"<s>", 0, PieceType.CONTROL),
            *((text, -i, PieceType.NORMAL) for i, text in enumerate([b"ab", "▁ab".encode(), b"a", b"b"])),
        ],
        {"vocab_size": 6, "pad_id": -1, "character_coverage": 0.5, "user_defined_symbols": ["x", "y"]},
        {"name": "identity", "add_dummy_prefix": True},
    )


def loads(data: bytes) -> bool:
    try:
        sentencepiece_format.parse(data, "file")
    except FormatError as error:
        assert str(error).startswith("file: ")  # noqa: PT017
        return False
    return True


def peer_loads(data: bytes) -> bool:
    try:
        return bool(sentencepiece.SentencePieceProcessor().LoadFromSerializedProto(data))
    except RuntimeError:
        return False


def test_error_in_options_names_the_offset_in_the_file() -> None:
    data = UNK + A + bytes_field(2, b"\x18\x02\x02\x00")
    said = f"byte {len(data) - 4}: trainer_spec begins there; its byte 2: 0 is not a field number"
    with pytest.raises(FormatError, match=said):
        sentencepiece_format.parse(data, "file")


def test_error_names_a_byte_that_no_piece_stands_for() -> None:
    some = (b"<0x%02X>" % byte for byte in range(256) if byte not in b"ab")
    data = UNK + A + b"".join(piece_field(name, varint_field(3, PieceType.BYTE)) for name in some) + FALLBACK
    for any_text, n, name in ((False, 2, "<0x61>"), (True, 1, "<0x62>")):
        said = f"^file: .* lacks {n} of the 256 pieces of type BYTE, such as {name}$"
        with pytest.raises(FormatError, match=said):
            sentencepiece_format.parse(data, "file", any_text=any_text)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_models_round_trip(name: str) -> None:
    data = published_bytes(name)
    model = sentencepiece_format.parse(memoryview(data), name)
    assert sentencepiece_format.dump(model) == data
    peer = sentencepiece.SentencePieceProcessor(model_proto=data)
    assert [piece.decode() for piece in model.pieces] == peer.id_to_piece(list(range(len(peer))))
    assert list(memoryview(model.scores).cast("f")) == peer.get_score(list(range(len(peer))))
    assert model.piece(5) == model.pieces[5]
    assert model.n_pieces == len(peer)


@pytest.mark.parametrize("name", ["llama2", "mistral_v1", "chinese"])
def test_dumped_model_equals_the_file_that_sentencepiece_wrote(name: str) -> None:
    data = published_bytes(name)
    assert sentencepiece_format.dump(sentencepiece_format.parse(data, name)._replace(serialized=b"")) == data


def test_trainer_and_normalizer_options_of_a_trained_model_are_read() -> None:
    data = trained(["ab ab abc", "abcd ab"], vocab_size=30, user_defined_symbols=["XY"], unk_surface=" ? ")
    model = sentencepiece_format.parse(data, "trained")
    assert sentencepiece_format.dump(model._replace(serialized=b"")) == data
    assert model.trainer.values == {
        "model_type": "bpe",
        "vocab_size": 17,
        "user_defined_symbols": ["XY"],
        "hard_vocab_limit": False,
        "unk_surface": " ? ",
    }
    assert model.trainer["character_coverage"] == 0.9995
    assert model.normalizer["name"] == "nmt_nfkc"
    assert model.denormalizer is None


def test_every_type_of_option_is_read() -> None:
    model = sentencepiece_format.parse(small_model(), "small")
    values = dict(model.trainer.values)
    assert values.pop("character_coverage") == 0.5
    assert values == {"model_type": "bpe", "vocab_size": 6, "pad_id": -1, "user_defined_symbols": ["x", "y"]}
    assert model.normalizer.values == {"name": "identity", "add_dummy_prefix": True}


@pytest.mark.parametrize("name", [k for k in GOOD if k != "bytes and no unknown"])
def test_valid_model_round_trips(name: str) -> None:
    model = sentencepiece_format.parse(GOOD[name], name)
    assert sentencepiece_format.dump(model) == GOOD[name]
    assert peer_loads(GOOD[name])
    again = sentencepiece_format.parse(sentencepiece_format.dump(model._replace(serialized=b"")), name)
    for column in ("pieces", "types", "scores", "unknown", "piece_extras", "self_test_data"):
        assert getattr(again, column) == getattr(model, column)
    assert (again.trainer, again.normalizer, again.denormalizer) == (
        model.trainer,
        model.normalizer,
        model.denormalizer,
    )


def test_model_with_all_bytes_needs_no_unknown_piece() -> None:
    assert sentencepiece_format.parse(GOOD["bytes and no unknown"], "file").n_pieces == 256


@pytest.mark.parametrize("name", BAD)
def test_invalid_model_raises_format_error(name: str) -> None:
    data, reason = BAD[name]
    with pytest.raises(FormatError, match=f"^file: .*({reason})"):
        sentencepiece_format.parse(data, "file")
    if "of type" not in reason or "UNKNOWN" in reason:
        assert not peer_loads(data)


@pytest.mark.parametrize("file", ["sp_test_model.model", "sp_test_ja_model.model"])
def test_unigram_model_round_trips(file: str) -> None:
    data = data_file("vocab", file).read_bytes()
    model = sentencepiece_format.parse(data, file)
    assert model.trainer["model_type"] == "unigram"
    assert sentencepiece_format.dump(model) == data
    again = sentencepiece_format.parse(sentencepiece_format.dump(model._replace(serialized=b"")), file)
    assert (again.pieces, again.scores, again.types) == (model.pieces, model.scores, model.types)
    assert (again.trainer, again.normalizer) == (model.trainer, model.normalizer)


def test_data_of_other_kinds_raise_format_error() -> None:
    for data in (b"", b"IQ== 0\n", b"{}", bytes(1000), b"\xff" * 1000):
        assert not loads(data)


@pytest.mark.parametrize(
    ("argument", "what"), [("pattern", "split pattern"), ("special_tokens", "special tokens")]
)
def test_file_is_read_before_an_argument_is_refused(tmp_path: Path, argument: str, what: str) -> None:
    options: dict[str, Any] = {argument: {"pattern": "gpt2", "special_tokens": {"<x>": 9}}[argument]}
    path = tmp_path / "a.model"
    path.write_bytes(b"garbage, not a model")
    with pytest.raises(FormatError, match=r"a\.model: not a sentencepiece model"):
        fastbpe.load(path, **options)
    path.write_bytes(GOOD["plain"])
    with pytest.raises(FormatError, match=f"contains its own {what}; leave {argument}= out"):
        fastbpe.load(path, **options)


def test_model_truncated_at_any_length_loads_only_if_sentencepiece_loads_it() -> None:
    data = small_model()
    for n_bytes in range(1, len(data)):
        assert loads(data[:n_bytes]) <= peer_loads(data[:n_bytes])


@pytest.mark.daily
def test_truncated_published_model_loads_only_if_sentencepiece_loads_it() -> None:
    data = published_bytes("llama2")
    rng = random.Random(1)
    for n_bytes in [*range(1000), *rng.sample(range(len(data)), 200), *range(len(data) - 300, len(data))]:
        if loads(data[:n_bytes]):
            assert peer_loads(data[:n_bytes])


def test_any_altered_byte_loads_only_if_sentencepiece_loads_it() -> None:
    """fastbpe loads exactly the models that sentencepiece loads, except models of other types."""
    data = bytearray(small_model())
    rng = random.Random(2)
    for at in range(len(data)):
        was = data[at]
        for byte in {was ^ 1, was ^ 0x80, was ^ 0xFF, 0, rng.randrange(256)} - {was}:
            data[at] = byte
            try:
                sentencepiece_format.parse(data, "file")
                is_loaded = True
            except FormatError as error:
                if "a model of type" in str(error):
                    continue
                is_loaded = False
            assert is_loaded == peer_loads(bytes(data)), (at, byte)
        data[at] = was


@pytest.mark.daily
def test_altered_first_kilobyte_loads_or_raises_format_error() -> None:
    data = bytearray(published_bytes("llama2"))
    rng = random.Random(3)
    for at in range(1024):
        was = data[at]
        data[at] = rng.randrange(256)
        loads(bytes(data))
        data[at] = was


def test_huge_lengths_allocate_little_memory() -> None:
    lengths = [b"\x0a" + varint(length) for length in (1 << 28, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)]
    tracemalloc.start()
    try:
        for length in lengths:
            assert not loads(UNK + A + BPE + length + b"abc")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_protobuf_fields_are_read() -> None:
    message = varint_field(1, -1) + bytes_field(2, b"ab") + fixed32_field(3, b"abcd") + b"\x21" + bytes(8)
    fields = list(protobuf.fields(message, 0, len(message)))
    assert [(field.number, field.wire) for field in fields] == [(1, 0), (2, 2), (3, 5), (4, 1)]
    assert fields[0].value == (1 << 64) - 1
    assert message[fields[1].start : fields[1].end] == b"ab"


def test_first_repeated_piece_is_found() -> None:
    """The pieces have every length and differ only in one byte or in length; one of them is repeated."""
    random_ = random.Random(7)
    alphabet = [bytes([a]) * n for a in b"ab" for n in range(1, 41)]
    alphabet += [b"a" * n + b"b" + b"a" * m for n in range(20) for m in range(20)]
    alphabet += [random_.randbytes(random_.randrange(1, 30)) for _ in range(500)]
    alphabet = list(dict.fromkeys(alphabet))
    for n in (0, 1, 2, 3, 4, 5, 8, 9, 100, len(alphabet)):
        pieces = random_.sample(alphabet, n)
        assert piece_messages.first_repeated(*pack_pieces(pieces), random_.getrandbits(64)) is None
        for _ in range(20 * (n > 0)):
            first, second = random_.randrange(n), random_.randrange(1, n + 1)
            if first < second:
                again = [*pieces[:second], pieces[first], *pieces[second:]]
                found = piece_messages.first_repeated(*pack_pieces(again), random_.getrandbits(64))
                assert found == (first, second)


@pytest.mark.parametrize("types", [b"", b"\x03", b"\x01\x03", b"\x03\x01\x01\x03\x03", b"\x01" * 100])
def test_pieces_of_a_type_are_listed(types: bytes) -> None:
    pieces = [b"%d" % i * (i % 3 + 1) for i in range(len(types))]
    ids = [i for i, type_ in enumerate(types) if type_ == PieceType.CONTROL]
    assert piece_messages.ids_of(types, PieceType.CONTROL) == ids
    assert piece_messages.of_type(*pack_pieces(pieces), types, PieceType.CONTROL) == {i: pieces[i] for i in ids}


def test_control_symbol_that_is_invalid_utf8_is_no_special_token() -> None:
    control = piece_field(b"\xff", fixed32_field(2, bytes(4)), varint_field(3, PieceType.CONTROL))
    tokenizer = fastbpe.load(UNK + A + control + BPE)
    assert tokenizer.special_tokens == {}
    assert tokenizer.id_to_token(2) == b"\xff"
    assert tokenizer.decode([2, 1]) == "a"


UNIGRAM_UNK = piece_field(b"<unk>", fixed32_field(2, bytes(4)), varint_field(3, PieceType.UNKNOWN))


@pytest.mark.parametrize("kind", ["CONTROL", "UNKNOWN", "BYTE"])
def test_piece_of_a_unigram_may_equal_a_name(kind: str) -> None:
    """sentencepiece 0.2.3 loads it, finds the piece in text, and gives the id of the name for its text."""
    name = {"CONTROL": b"<s>", "UNKNOWN": b"<unk>", "BYTE": b"<0x41>"}[kind]
    control = piece_field(b"<s>", fixed32_field(2, bytes(4)), varint_field(3, PieceType.CONTROL))
    same = piece_field(name, fixed32_field(2, struct.pack("<f", -3.0)))
    falls_back = kind == "BYTE"
    data = UNIGRAM_UNK + control + (ALL_BYTES if falls_back else b"") + same
    data += bytes_field(2, varint_field(3, 1) + (varint_field(35, 1) if falls_back else b""))
    assert peer_loads(data)
    processor = sentencepiece.SentencePieceProcessor(model_proto=data)
    tokenizer = fastbpe.load(data)
    text = name.decode()
    assert tokenizer.encode_ordinary(f"{text}{text}") == processor.encode(f"{text}{text}")
    assert tokenizer.token_to_id(text) == processor.piece_to_id(text) != tokenizer.n_vocab - 1
    for format in ("huggingface", "gguf"):
        with pytest.raises(FormatError, match=r"equal pieces|two pieces"):
            tokenizer.export("x", format=format)


@pytest.mark.parametrize("kind", [PieceType.NORMAL, PieceType.CONTROL])
def test_equal_pieces_of_a_unigram_raise_format_error(kind: int) -> None:
    twice = piece_field(b"a", fixed32_field(2, bytes(4)), varint_field(3, kind)) * 2
    data = UNIGRAM_UNK + A + (twice if kind == PieceType.CONTROL else A) + bytes_field(2, varint_field(3, 1))
    assert not peer_loads(data)
    with pytest.raises(FormatError, match=r"pieces \d and \d are both b'a'"):
        fastbpe.load(data)


@pytest.mark.parametrize("bos_id", [-1, 1, 2])
def test_text_with_the_name_of_a_control_symbol_does_not_hide_it(bos_id: int) -> None:
    pieces = [
        (b"<unk>", 0.0, PieceType.UNKNOWN),
        (b"<s>", 0.0, PieceType.NORMAL),
        (b"<s>", 0.0, PieceType.CONTROL),
        (b"a", 0.0, PieceType.NORMAL),
    ]
    data = model_of(pieces, {"model_type": "unigram", "bos_id": bos_id})
    assert sentencepiece.SentencePieceProcessor(model_proto=data).bos_id() == 2
    assert fastbpe.load(data).encode("a", with_template=True)[0] == 2


def test_unk_surface_may_be_invalid_utf8() -> None:
    surface = bytes_field(2, varint_field(3, 2) + bytes_field(44, b"\xff"))
    tokenizer = fastbpe.load(UNK + A + surface + bytes_field(3, varint_field(3, 0)))
    assert tokenizer.decode_bytes([0, 1]) == b"\xffa"
    assert tokenizer.decode([0, 1]) == "\ufffda"


@pytest.mark.parametrize(
    "order", ["text score type", "type text score", "score type text", "score text text type"]
)
@pytest.mark.parametrize("size", [1, 127, 128, 7999])
def test_fast_reader_accepts_fields_in_any_order(order: str, size: int) -> None:
    fields = {
        "text": bytes_field(1, b"x" * size),
        "score": fixed32_field(2, struct.pack("<f", -3.5)),
        "type": varint_field(3, PieceType.USER_DEFINED),
    }
    data = UNK + bytes_field(1, b"".join(fields[name] for name in order.split())) + A + BPE
    end, text, ends, scores, types = piece_messages.read(data, 0, 0)
    assert end == len(data) - len(BPE)
    assert (text, types) == (b"<unk>" + b"x" * size + b"a", b"\x02\x04\x01")
    assert struct.unpack("<3f", scores) == (0, -3.5, 0)
    assert struct.unpack("<3I", ends) == (5, 5 + size, 6 + size)


def test_too_many_fields_raise_format_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_FIELDS", 9)
    for data in (UNK + A + varint_field(7, 1) * 9 + BPE, UNK + A + bytes_field(2, BPE + varint_field(4, 1) * 10)):
        with pytest.raises(FormatError, match=r"byte [0-9]+: more fields"):
            fastbpe.load(data)


def test_too_much_text_raises_format_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit holds anywhere in the file, since an end beyond 32 bits would point outside the text."""
    monkeypatch.setattr(sentencepiece_format, "_MAX_TEXT", 5)  # <unk> has 5 bytes
    for data in (UNK + A + BPE, BPE + UNK + A, BPE + UNK + piece_field(b"a" * 8000)):
        with pytest.raises(FormatError, match=r"byte [0-9]+: more fields, or more text"):
            sentencepiece_format.parse(data, "it", any_text=True)
