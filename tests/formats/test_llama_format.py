"""tokenizer.json files of the Llama kind: refused parts, and models that no .model file can hold."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, FormatWarning
from fastbpe.formats import native, native_extras
from fastbpe.formats.huggingface import llama_symbols, read_llama
from fastbpe.formats.sentencepiece import model_file
from fastbpe.model import CodePointModel, Conventions, PieceType
from fastbpe.tokenizer.tokenizer import Tokenizer
from helpers.bounds import within
from helpers.codepoint_models import model_of, trained
from helpers.tensor_items import tensor_items

METASPACE = "▁"
PREPEND = {"type": "Prepend", "prepend": METASPACE}
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": METASPACE}
BACK = {"type": "Replace", "pattern": {"String": METASPACE}, "content": " "}
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
DECODERS = [BACK, {"type": "ByteFallback"}, {"type": "Fuse"}]
TOKENS = [
    "<unk>",
    "<s>",
    *(f"<0x{byte:02X}>" for byte in range(256)),
    METASPACE,
    "a",
    "b",
    "ab",
    f"{METASPACE}a",
    f"a{METASPACE}",
]
METASPACE_STEP = {"type": "Metaspace", "replacement": METASPACE, "prepend_scheme": "first", "split": False}


def document(**changes: Any) -> dict[str, Any]:
    """Return a small file; `changes` maps paths, with __ between keys, to values."""
    made: dict[str, Any] = {
        "version": "1.0",
        "added_tokens": [added("<unk>", 0), added("<s>", 1)],
        "normalizer": {"type": "Sequence", "normalizers": [PREPEND, REPLACE]},
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": [*DECODERS, STRIP]},
        "model": {
            "type": "BPE",
            "unk_token": "<unk>",
            "fuse_unk": True,
            "byte_fallback": True,
            "vocab": {token: i for i, token in enumerate(TOKENS)},
            "merges": ["a b", f"{METASPACE} a", f"a {METASPACE}"],
        },
    }
    for path, value in changes.items():
        at = made
        *keys, last = path.split("__")
        for key in keys:
            at = at[key]
        at[last] = value
    return made


def added(content: str, token_id: int, **flags: bool) -> dict[str, Any]:
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": token_id, "content": content, "special": True, **plain, **flags}


def dumped(**changes: Any) -> bytes:
    return json.dumps(document(**changes)).encode()


def test_items_of_a_tensor_decode_as_their_ids() -> None:
    bad_byte, a_space = 2 + 0xFF, TOKENS.index(f"a{METASPACE}")
    metaspaces = dumped(normalizer=None, pre_tokenizer=METASPACE_STEP, decoder=METASPACE_STEP)
    for data, ids, text in (
        (dumped(), [bad_byte, a_space], "\ufffda "),
        (metaspaces, [a_space, a_space], "aa "),  # the first token loses its space
    ):
        tokenizer = fastbpe.load(data)
        assert tokenizer.decode(ids) == tokenizer.decode(tensor_items(ids)) == text


def parsed(**changes: Any) -> CodePointModel:
    return read_llama.parse(dumped(**changes), "file")


def with_tokens(*tokens: str) -> dict[str, int]:
    return {token: i for i, token in enumerate([*TOKENS, *tokens])}


METASPACE_STEPS = [
    ({"replacement": 7}, r"\.replacement: in Metaspace it must be one character, not 7"),
    ({"replacement": None}, r"\.replacement: in Metaspace it must be one character, not None"),
    ({"prepend_scheme": "last"}, r"\.prepend_scheme: in Metaspace it must be one of always, first, never"),
    ({"add_prefix_space": False}, r"\.add_prefix_space: false contradicts the prepend_scheme 'first'"),
]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(
            ({name: {**METASPACE_STEP, **values}}, f"{name}{message}")
            for name in ("pre_tokenizer", "decoder")
            for values, message in METASPACE_STEPS
        ),
        (
            {"pre_tokenizer": {**METASPACE_STEP, "split": "no"}},
            r"pre_tokenizer\.split: in Metaspace it must be true",
        ),
        ({"pre_tokenizer": {"type": "Digits"}}, "pre_tokenizer: it has no 'individual_digits'"),
        ({"pre_tokenizer": {"type": "Split", "pattern": {"String": "a"}}}, "pre_tokenizer: it has no 'behavior'"),
        ({"normalizer": {"type": "Newer"}}, "normalizer: the normalizer 'Newer' is not supported"),
        ({"decoder": {"type": "Sequence"}}, "decoder: a Sequence needs a list 'decoders'"),
        ({"model__vocab": {**with_tokens(), "x": 5}}, "model.vocab: tokens '<0x03>' and 'x' have the same id 5"),
        ({"model__vocab": {**with_tokens(), "x": "5"}}, "model.vocab: token 'x' has the id '5'"),
        ({"model__merges": ["a b", "a c"]}, r"model\.merges\[1\]: 'a' and 'c': 'c' is not a token"),
        ({"model__merges": ["b a"]}, r"model\.merges\[0\]: 'b' and 'a': 'ba' is not a token"),
        ({"model__merges": ["a"]}, r"model\.merges\[0\]: must be two tokens"),
        ({"model__type": "Unigram"}, r"model\.vocab: must be a list"),
        ({"model__dropout": -0.1}, r"model\.dropout: must be a number from 0 to 1, or null, not -0\.1"),
    ],
)
def test_unsupported_part_raises_format_error(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        fastbpe.load(dumped(**changes))


#: Files that are nearly of the kind, and that tokenizers takes.
NEARLY: list[dict[str, Any]] = [
    *({name: {**METASPACE_STEP, "replacement": "_"}} for name in ("pre_tokenizer", "decoder")),
    {"pre_tokenizer": {"type": "Sequence", "pretokenizers": []}},
    {"pre_tokenizer": {"type": "Split", "pattern": {"String": "a"}, "behavior": "Removed", "invert": False}},
    {"normalizer": None},
    {"normalizer": PREPEND},
    {"normalizer": {"type": "NFKC"}},
    {"normalizer": PREPEND, "pre_tokenizer": METASPACE_STEP},
    {"pre_tokenizer": METASPACE_STEP, "added_tokens": [added("<s>", 1, normalized=True)]},
    {"added_tokens": [added("<s>", 1, normalized=True, lstrip=True)]},
    {"decoder": None},
    {"decoder": {"type": "Fuse"}},
    {"decoder__decoders": [*DECODERS, {**STRIP, "start": 2}]},
    {"model__ignore_merges": True},
    # An empty regex splits between all characters.
    {
        "model__ignore_merges": True,
        "pre_tokenizer": llama_symbols.describe([], dict.fromkeys(TOKENS[:258], "<")),
    },
    {"model__byte_fallback": False, "model__unk_token": None},
    {"model__unk_token": "a"},
    {"model__unk_token": "<q>"},
    {"model__vocab": {token: i for i, token in enumerate(TOKENS[:20] + TOKENS[21:])}},
    {"model__vocab": {"<unk>": 0, "<s>": 1, "a": 2, "b": 3, "ab": 4}, "model__merges": ["a b"]},
    {"model__vocab": with_tokens("")},
    {"model__vocab": {**with_tokens(), "x": 999}},
    {"model__merges": []},
    {"model__vocab": with_tokens("<un", "k>"), "model__merges": ["<un k>"]},
    {"model__vocab": with_tokens("<0", "x41>"), "model__merges": ["<0 x41>"]},
    {"model__vocab": with_tokens("<unk>a"), "model__merges": ["a b", "<unk> a"]},
    {"model__vocab": with_tokens("a<0x41>"), "model__merges": ["a <0x41>"]},
]
TEXTS = ["ab a  b é\x00", "<s>ab<unk>a", "", " ", "a▁b ba", "  <s> x", "A_b <q>aé日b"]


@pytest.mark.parametrize("changes", NEARLY, ids=str)
def test_file_that_is_nearly_of_the_kind_gives_what_tokenizers_gives(changes: dict[str, Any]) -> None:
    original = pytest.importorskip("tokenizers").Tokenizer.from_buffer(dumped(**changes))
    tokenizer = fastbpe.load(dumped(**changes))
    assert tokenizer.mode == "character"
    for text in TEXTS:
        try:
            wanted = original.encode(text, add_special_tokens=False)
        except Exception:  # the class that tokenizers raises: the unknown token is none
            with pytest.raises(fastbpe.VocabularyError, match="the model's unk_token is not in its vocabulary"):
                tokenizer.encode(text, allowed_special="all")
            continue
        ids, offsets = tokenizer.encode_with_offsets(text, allowed_special="all")
        assert (ids, offsets) == (wanted.ids, wanted.offsets), text
        assert tokenizer.encode(text, allowed_special="all") == ids
        for skips in (False, True):
            decoded = original.decode(ids, skip_special_tokens=skips)
            assert tokenizer.decode(ids, skip_special_tokens=skips) == decoded
    again = fastbpe.load(native.dump(tokenizer._family.model))
    assert again == tokenizer
    assert [again.encode(text) for text in TEXTS[4:5]] == [tokenizer.encode(text) for text in TEXTS[4:5]]


@pytest.mark.parametrize("part", ["decoder", "normalizer", "pre_tokenizer", "post_processor", "truncation"])
@pytest.mark.parametrize("deep", ['{"a":' * 100_000 + "1" + "}" * 100_000, "[" * 100_000 + "]" * 100_000])
def test_deep_nesting_raises_format_error(part: str, deep: str) -> None:
    data = dumped(**{part: "@"}).replace(b'"@"', deep.encode())
    with within(10), pytest.raises(FormatError):  # takes about a second
        fastbpe.load(data)


def test_truncation_setting_is_warned_of() -> None:
    with pytest.warns(FormatWarning, match="its truncation is not applied"):
        fastbpe.load(
            dumped(truncation={"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0})
        )
    with pytest.raises(FormatError, match="padding: must be an object, not 5"):
        fastbpe.load(dumped(padding=5))


def test_pieces_unknown_to_sentencepiece_load_but_are_not_exported() -> None:
    model = parsed(model__vocab=with_tokens("\0", "a" * 100_000, "b b"))
    tokenizer = Tokenizer(model)
    assert tokenizer.encode("\0")[1:] == [264]
    again = pickle.loads(pickle.dumps(tokenizer))
    assert again.encode("\0 ab") == tokenizer.encode("\0 ab")
    assert again.fingerprint == tokenizer.fingerprint
    with pytest.raises(FormatError, match=r"as a \.model file: piece 264, .* contains a NUL"):
        model_file.dump(model._replace(merges=b"", added_tokens=()))


def test_piece_too_long_for_sentencepiece_is_not_dumped() -> None:
    with pytest.raises(FormatError, match=r"as a \.model file: piece 264 has 8000 bytes; the limit is 7999"):
        model_file.dump(parsed(model__vocab=with_tokens("b" * 8000))._replace(merges=b""))


CANNOT = [
    (
        {"normalizer": None, "pre_tokenizer": METASPACE_STEP},
        "the rule that a text gets a space at the start only if it begins with none",
    ),
    (
        {"pre_tokenizer": {**METASPACE_STEP, "prepend_scheme": "never", "split": True}},
        "the rule that pieces end before each",
    ),
    (
        {"model__byte_fallback": False, "model__fuse_unk": False},
        "the rule that each of several unknown characters in a row",
    ),
    ({"decoder": METASPACE_STEP}, "a decoder that writes byte pieces by their names"),
    ({"decoder__decoders": DECODERS}, "the rule that decoding keeps a space at the start"),
    ({"added_tokens": [added("<s>", 1, lstrip=True)]}, "the added token '<s>', whose flags"),
    ({"added_tokens": [added("a", 259)]}, "the added token 'a', whose flags"),
    ({"added_tokens": [added("<0x41>", 2 + 0x41)]}, "the added token '<0x41>', whose flags"),
    (
        {
            "normalizer": None,
            "pre_tokenizer": {**METASPACE_STEP, "prepend_scheme": "never"},
            "added_tokens": [added(f"{METASPACE}bb", 264, special=False, normalized=True)],
        },
        f"the added token '{METASPACE}bb', whose flags",
    ),
    ({"model__merges": ["a b"]}, "a list of merges"),
]


@pytest.mark.parametrize(("changes", "message"), CANNOT)
def test_model_file_export_refuses_other_conventions(changes: dict[str, Any], message: str) -> None:
    model = parsed(**changes)
    with pytest.raises(FormatError, match=rf"a \.model file cannot store {message}"):
        model_file.dump(model)
    kept = native.parse(native.dump_code_points(model), "file")
    assert isinstance(kept, CodePointModel)
    assert (kept.conventions, kept.merges, kept.added_tokens) == (
        model.conventions,
        model.merges,
        model.added_tokens,
    )


def test_model_file_export_keeps_the_types_of_pieces() -> None:
    assert model_file.parse(model_file.dump(parsed()), "file").types == parsed().types


def test_model_that_lost_its_only_user_defined_piece_is_written_without_a_pre_tokenizer(tmp_path: Path) -> None:
    original = pytest.importorskip("tokenizers").Tokenizer
    options: dict[str, Any] = {"normalization_rule_name": "identity", "user_defined_symbols": ["<a>"]}
    (tmp_path / "a.model").write_bytes(trained(["a b ab abc"] * 9, vocab_size=270, byte_fallback=True, **options))
    fastbpe.load(tmp_path / "a.model").export(tmp_path / "a.json", format="huggingface")
    loaded = fastbpe.load(tmp_path / "a.json").without_tokens(["<a>"]).tokenizer
    loaded.export(tmp_path / "b.json", format="huggingface")
    for text in ("ab abc", "a<a>b", "<s>"):
        ids = original.from_file(str(tmp_path / "b.json")).encode(text, add_special_tokens=False).ids
        assert ids == loaded.encode(text, allowed_special="all")


@pytest.mark.parametrize("value", [1, {}, {"prefix": "first"}, {**Conventions()._asdict(), "strips": 1}])
def test_native_file_with_invalid_conventions_raises_format_error(value: Any) -> None:
    with pytest.raises(FormatError, match="file: its header has no valid 'conventions'"):
        native_extras._read_conventions(value, "file")


def test_conventions_of_older_native_files_are_read() -> None:
    values = {name: value for name, value in Conventions(splits=True)._asdict().items() if name != "symbols"}
    assert native_extras._read_conventions(values, "file") == Conventions(splits=True)


@pytest.mark.parametrize("flags", [{"special": False, "single_word": True}, {"special": True}])
def test_token_inside_one_that_is_not_found_is_ordinary_text(flags: dict[str, bool]) -> None:
    """As in tokenizers, which does not look for "a" where it found "ab" and skipped it."""
    tokens = [added("a", 259, normalized=True, special=False), added("ab", 261, normalized=True, **flags)]
    data = dumped(normalizer=REPLACE, model__merges=[f"{METASPACE} a"], added_tokens=tokens)
    assert fastbpe.load(data).encode("bab", disallowed_special=()) == [260, 259, 260]


def test_space_before_a_text_merges_to_an_added_token() -> None:
    """In tokenizers, Metaspace puts it there after the search for added tokens."""
    tokens = [added(f"{METASPACE}a", 262, normalized=True, special=False)]
    data = dumped(normalizer=REPLACE, pre_tokenizer=METASPACE_STEP, added_tokens=tokens)
    assert fastbpe.load(data).encode("a") == [262]


def test_many_added_tokens_that_merges_make_load_in_linear_time() -> None:
    letters = [chr(0x4E00 + i) for i in range(60)]
    pairs = [(one, other) for one in letters for other in letters]
    vocab = with_tokens(*letters, *map("".join, pairs))
    tokens = [added(one + other, vocab[one + other], special=False) for one, other in pairs]
    data = dumped(model__vocab=vocab, model__merges=[*map(list, pairs)], added_tokens=tokens)
    with within(5):  # takes a fifth of a second
        assert fastbpe.load(data).mode == "codepoint"


def test_pre_tokenizer_of_many_user_defined_pieces_takes_linear_time() -> None:
    n = 30_000
    pieces = ["<unk>", *(f"[{i}]" for i in range(n)), *(f"<{i}>" for i in range(n))]
    types = bytes([PieceType.UNKNOWN] + [PieceType.USER_DEFINED] * n + [PieceType.CONTROL] * n)
    with within(5):  # takes one second
        assert llama_symbols.pre_tokenizer(pieces, types, b"", added=(), fuses=False)[0]


@pytest.mark.parametrize("symbol", ["<a>", None])
def test_export_refuses_what_would_take_cubic_or_quadratic_time(symbol: str | None, tmp_path: Path) -> None:
    """With a user-defined piece, the control symbol must be cut; without one, all lengths of runs are tried."""
    runs = [(b"a" * n, -1.0, PieceType.NORMAL) for n in range(2, 200)]
    pieces = [
        (b"<unk>", 0.0, PieceType.UNKNOWN),
        (b"\xe2\x96\x81", -2.0, PieceType.NORMAL),
        (b"a", -3.0, 1),
        *runs,
    ]
    if symbol is not None:
        pieces = [
            *pieces[:5],
            (b"ab" * 3999, 0.0, PieceType.CONTROL),
            (symbol.encode(), 0.0, PieceType.USER_DEFINED),
        ]
    (tmp_path / "a.model").write_bytes(model_of(pieces))
    loaded = fastbpe.load(tmp_path / "a.model")
    with within(5), pytest.raises(FormatError, match="cannot"):
        loaded.export(tmp_path / "a.json", format="huggingface")
