"""Tokenizers of characters: what they answer, how they are kept, and what they refuse."""

from __future__ import annotations

import itertools
import json
import pickle
import random
import time
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, Tokenizer, TrainingError
from fastbpe.errors import NoUnknownTokenError
from helpers import tokenizer_json
from helpers.native_files import parts, sealed

WORDS = {
    "version": "1.0",
    "added_tokens": [
        {
            "id": 0,
            "content": "<s>",
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
    ],
    "normalizer": {"type": "Lowercase"},
    "pre_tokenizer": {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Whitespace"},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        ],
    },
    "post_processor": None,
    "decoder": {"type": "BPEDecoder", "suffix": "</w>"},
    "model": {
        "type": "BPE",
        "unk_token": "?",
        "end_of_word_suffix": "</w>",
        "vocab": {
            token: i
            for i, token in enumerate(
                [
                    "<s>",
                    "?",
                    "l",
                    "o",
                    "w",
                    "w</w>",
                    "Ã",
                    "©</w>",
                    "lo",
                    "low</w>",
                    "Ã©</w>",
                    "<",
                    "s",
                    ">",
                    "></w>",
                ]
            )
        },
        "merges": ["l o", "lo w</w>", "Ã ©</w>"],
    },
}


@pytest.fixture(scope="module")
def words() -> Tokenizer:
    return fastbpe.load(json.dumps(WORDS).encode())  # type: ignore[no-any-return]


def test_words_end_with_the_suffix(words: Tokenizer) -> None:
    assert words.encode("Low é lo") == [9, 10, 2, 1]
    assert words.encode_with_offsets("Low é lo") == ([9, 10, 2, 1], [(0, 3), (4, 5), (6, 7), (7, 8)])
    assert words.decode([9, 10, 8, 9]) == "low Ã© lolow"
    assert words.mode == "character"
    assert (words.unk_token_id, words.token_to_id("low</w>"), words.id_to_token(9)) == (1, 9, b"low</w>")


def test_pieces_are_places_in_the_text(words: Tokenizer) -> None:
    assert words.pieces("low é?") == [(0, 3), (4, 5), (5, 6)]


def test_single_tokens_decode_within_a_text(words: Tokenizer) -> None:
    assert words._family.surfaces.token(9) == b"low "
    assert words.decode_tokens_bytes([9, 9]) == [b"low ", b"low"]
    assert words._family.surfaces.decode_with_offsets([9, 9]) == ("low low", [0, 4])
    assert words.decode_batch([[9], [9, 9]]) == ["low", "low low"]
    stream = words.decoder()
    assert [stream.push(9), stream.push(9), stream.finish()] == ["low", " low", ""]


def test_untrusted_text_never_becomes_a_special_token(words: Tokenizer) -> None:
    assert words.encode_parts([("<s>", True), ("<s>", False)]) == [0, 1, 1, 14]


def test_untrusted_text_needs_an_unknown_token_only_where_an_added_token_has_unknown_characters() -> None:
    model = {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"a": 0, "b": 1, "c1": 2}}
    data = json.dumps(
        {"added_tokens": [tokenizer_json.added(2, "c1")], "pre_tokenizer": {"type": "Whitespace"}, "model": model}
    ).encode()
    tokenizer = fastbpe.load(data)
    assert tokenizer.encode_parts([("a b", False), ("c1", True)]) == [0, 1, 2]
    with pytest.raises(NoUnknownTokenError, match="the character 'c' has no token"):
        tokenizer.encode_parts([("c1", False)])


def test_untrusted_text_keeps_the_affixes_of_the_symbols_that_replace_an_added_token() -> None:
    vocab = {t: i for i, t in enumerate(["[UNK]", "a", "b", "c", "##a", "##b", "#", "###", "##", "ab", "##ab"])}
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "vocab": vocab}
    added = [tokenizer_json.added(vocab[token], token) for token in ("##", "ab", "##ab")]
    pieces = fastbpe.load(
        json.dumps({"added_tokens": added, "model": {**model, "max_input_chars_per_word": 100}}).encode()
    )
    assert pieces.encode_parts([("cab", False)]) == [vocab["c"], vocab["##a"], vocab["##b"]]
    assert pieces.encode_parts([("ab", False)]) == [vocab["a"], vocab["##b"]]
    assert pieces.encode_parts([("##", False)]) == [vocab["#"], vocab["###"]]

    vocab = {token: i for i, token in enumerate(["a", "b", "a</w>", "b</w>", "ab", "ab</w>"])}
    model = {"type": "BPE", "end_of_word_suffix": "</w>", "vocab": vocab, "merges": ["a b</w>", "a b"]}
    merged = fastbpe.load(json.dumps({"added_tokens": [tokenizer_json.added(4, "ab")], "model": model}).encode())
    assert merged.encode_parts([("abb", False)]) == [vocab["a"], vocab["b"], vocab["b</w>"]]


def test_spans_beyond_the_text_do_not_prevent_explaining() -> None:
    vocab = {"a": 0, **{f"<0x{byte:02X}>": 1 + byte for byte in range(256)}}
    model = {"type": "BPE", "continuing_subword_prefix": "##", "byte_fallback": True, "vocab": vocab, "merges": []}
    tokenizer = fastbpe.load(json.dumps({"model": model, "decoder": {"type": "Fuse"}}).encode())
    assert tokenizer.encode_with_offsets("a.")[1] == [(0, 1), (1, 2), (2, 3), (3, 4)]  # as in tokenizers
    assert tokenizer.explain("a.").changes == ((1, 2, ".", "<0x23><0x23><0x2E>"),)


def test_streams_and_conversations_give_the_ids_of_the_whole(words: Tokenizer) -> None:
    text = "low é lo low"
    stream = words.encoder()
    assert [one for part in text for one in stream.push(part)] + stream.finish() == words.encode(text)
    conversation = words.conversation()
    for part in text:
        conversation.append(part)
    assert conversation.ids == words.encode(text)
    assert words.interval_counter(text)(2, 9) == words.count(text[2:9])
    assert words.truncate(text, 2) == "low é "


def test_copies_are_equal(words: Tokenizer, tmp_path: Path) -> None:
    words.save(tmp_path / "words.fbpe")
    words.export(tmp_path / "tokenizer.json", format="huggingface", verify=True)
    for again in (
        pickle.loads(pickle.dumps(words)),
        fastbpe.load(tmp_path / "words.fbpe"),
        fastbpe.load(tmp_path / "tokenizer.json"),
    ):
        assert again == words
        assert hash(again) == hash(words)
        assert again.encode("Low é lo") == [9, 10, 2, 1]
        assert again.decode([9, 9]) == "low low"
    assert json.loads((tmp_path / "tokenizer.json").read_bytes())["model"]["end_of_word_suffix"] == "</w>"


def test_tokens_are_added_at_the_end(words: Tokenizer) -> None:
    more = words.with_tokens(["<think>"]).with_special_tokens(["<end>"])
    assert more.encode("low<think><end>low", allowed_special="all") == [9, 15, 16, 9]
    assert more.decode([9, 15, 16, 9], skip_special_tokens=True) == "low <think>low"
    assert more.id_map(words).old_to_new.tolist() == [*range(15)]


def test_explanation_has_the_ids_and_merges_of_each_word(words: Tokenizer) -> None:
    explanation = words.explain("Low é lo<s>x", allowed_special="all")
    assert explanation.ids == words.encode("Low é lo<s>x", allowed_special="all")
    assert [(piece.text, piece.start, piece.end, piece.kind, piece.ids) for piece in explanation.pieces] == [
        ("low", 0, 3, "text", (9,)),
        ("Ã©", 4, 5, "text", (10,)),
        ("l", 6, 7, "text", (2,)),
        ("o", 7, 8, "unknown", (1,)),
        ("<s>", 8, 11, "special", (0,)),
        ("x", 11, 12, "unknown", (1,)),
    ]
    assert [(one.left, one.right) for one in explanation.pieces[0].merges] == [(b"l", b"o"), (b"lo", b"w</w>")]


def test_merge_tree_joins_symbols_as_the_file_spells_them(words: Tokenizer) -> None:
    tree = fastbpe.merge_tree(words, b"low</w>")
    assert (tree.token, tree.id) == (b"low</w>", 9)
    assert [part.token for part in tree.parts] == [b"lo", b"w</w>"]
    assert [part.token for part in tree.parts[0].parts] == [b"l", b"o"]
    assert fastbpe.merge_tree(words, 0).parts == ()


def test_explanation_of_tokens_with_a_prefix_spells_them_once() -> None:
    tokens = ["a", "##b", "##c", "a##b", "##bc", "abc", "ab"]
    made = {
        **WORDS,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {
            "type": "BPE",
            "continuing_subword_prefix": "##",
            "vocab": {token: i for i, token in enumerate(tokens)},
            "merges": ["##b ##c", "a ##bc"],
        },
    }
    tokenizer = fastbpe.load(json.dumps(made).encode())
    (piece,) = tokenizer.explain("abc").pieces
    assert (piece.text, piece.ids) == ("abc", (5,))
    assert [(one.left, one.right) for one in piece.merges] == [(b"##b", b"##c"), (b"a", b"##bc")]
    tree = "'abc' 5 ├── 'a' 0 └── '##bc' 4 ├── '##b' 1 └── '##c' 2"
    assert str(fastbpe.merge_tree(tokenizer, "abc")).split() == tree.split()


def test_report_gives_texts_for_tokens_and_proofs(words: Tokenizer) -> None:
    report = fastbpe.vocabulary_report(words, ["Low low"])
    assert (report.mode, report.impossible, report.undecided) == ("character", {}, [])
    for token_id, text in report.witnesses.items():
        assert token_id in words.encode(text, allowed_special="all")
    assert report.corpus is not None
    assert report.corpus.n_ids == 2
    assert report.tokens[words.encode("low")[0]] == b"low"


def of_letters(vocab: list[str], merges: list[str], **options: Any) -> Tokenizer:
    model = {"type": "BPE", "vocab": {token: i for i, token in enumerate(vocab)}, "merges": merges, **options}
    return fastbpe.load(json.dumps({"version": "1.0", "model": model}).encode())


def test_long_piece_with_many_ids_has_them_again_from_the_cache() -> None:
    """A prefix without a token becomes byte tokens, before each character but the first: 100 ids per byte."""
    vocab = [f"<0x{byte:02X}>" for byte in range(256)]
    tokenizer = of_letters(vocab, [], byte_fallback=True, continuing_subword_prefix="#" * 100)
    wanted = [*b"y", *(b"#" * 100 + b"y") * 999]
    assert tokenizer.encode("y" * 1000) == tokenizer.encode("y" * 1000) == wanted


def with_bytes_of_prefixes(**steps: Any) -> Tokenizer:
    """A prefix without a token becomes byte tokens, which lie beyond the end of their piece."""
    vocab = {**{f"<0x{byte:02X}>": byte for byte in range(256)}, " ": 256}
    model = {"type": "BPE", "vocab": vocab, "merges": [], "byte_fallback": True, "continuing_subword_prefix": "#"}
    split = {"type": "Split", "pattern": {"String": " "}, "behavior": "Isolated", "invert": False}
    made = {"version": "1.0", "model": model, "pre_tokenizer": split, **steps}
    return fastbpe.load(json.dumps(made).encode())


def test_offsets_of_a_long_piece_with_bytes_of_prefixes_take_seconds() -> None:
    start = time.process_time()
    _, offsets = with_bytes_of_prefixes().encode_with_offsets("y" * 40_000 + " y" * 40_000)
    assert offsets[:79_999] == [(i, i + 1) for i in range(79_999)]  # as tokenizers: beyond the piece, too
    assert time.process_time() - start < 5


@pytest.mark.parametrize("unit", ["byte", "utf16"])
def test_trimmed_offsets_in_other_units_stay_within_the_text(unit: Any) -> None:
    """Positions beyond the text, which only tokenizers' characters have, were once looked up in it: a crash."""
    trims = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    tokenizer = with_bytes_of_prefixes(post_processor=trims)
    text = "漢字😀" * 20 + " y"
    n = len(text.encode("utf-8" if unit == "byte" else "utf-16-le")) // (1 if unit == "byte" else 2)
    _, offsets = tokenizer.encode_with_offsets(text, unit=unit)
    assert offsets[-1] == (n - 1, n)
    assert max(end for _, end in offsets) == n


@pytest.mark.parametrize("seed", range(30))
def test_tokens_that_no_text_gives_are_in_no_short_text(seed: int) -> None:
    rng = random.Random(seed)
    vocab, merges = [*"ab", "a</w>", "b</w>"][: rng.choice([2, 4])], []
    for _ in range(rng.randint(2, 9)):
        left, right = rng.choice(vocab), rng.choice(vocab)
        if not left.endswith("</w>") and len(left + right) < 9:
            merges.append(f"{left} {right}")
            vocab = [*dict.fromkeys([*vocab, left + right])]
    rng.shuffle(merges)
    options = {"end_of_word_suffix": "</w>"} if "a</w>" in vocab else {}
    tokenizer = of_letters(vocab, merges, ignore_merges=rng.random() < 0.3, **options)
    report = fastbpe.vocabulary_report(tokenizer)
    texts = ["".join(letters) for n in range(1, 8) for letters in itertools.product("ab", repeat=n)]
    given = {i for ids in tokenizer.encode_ordinary_batch(texts) for i in ids}
    assert given.isdisjoint(report.impossible)
    assert given.issuperset(i for i, text in report.witnesses.items() if {*text} <= {*"ab"} and len(text) < 8)


def test_completions_begin_with_the_bytes_that_tokens_decode_to(words: Tokenizer) -> None:
    surfaces = {i: words.decode_tokens_bytes([i])[0] for i, token in enumerate(words.vocab) if token}
    del surfaces[words.special_tokens["<s>"]]
    for prefix in {surface[:n] for surface in surfaces.values() for n in range(4)} | {b"zz", b"\xff"}:
        expected = {i for i, surface in surfaces.items() if surface.startswith(prefix)}
        found = words.completions(prefix)
        assert {*found} == expected
        assert len(found) == len(expected)
        assert found == sorted(found, key=lambda i: (surfaces[i], i))
    assert words.completions("low") == words.completions(b"low")


@pytest.mark.parametrize("mode", [None, "byte", "codepoint", "character"])
@pytest.mark.parametrize("learn", [fastbpe.train, fastbpe.count_pieces])
def test_training_on_it_is_refused(words: Tokenizer, learn: Any, mode: Any) -> None:
    options = {"vocab_size": 300} if learn is fastbpe.train else {}
    with pytest.raises(
        TrainingError, match=r"base= is a character-level tokenizer, which train does not extend: "
    ):
        learn(["low"], mode=mode, base=words, **options)


@pytest.mark.parametrize("format", ["tiktoken", "gpt2", "sentencepiece", "minbpe", "tekken", "gguf"])
def test_formats_without_such_a_spelling_are_refused(words: Tokenizer, tmp_path: Path, format: str) -> None:
    with pytest.raises(FormatError, match=r"cannot store|choose one of"):
        words.export(tmp_path / "out", format=format)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_native_file_with_tokens_that_are_not_utf8_is_refused(words: Tokenizer, tmp_path: Path) -> None:
    words.save(tmp_path / "words.fbpe")
    header, tables = parts((tmp_path / "words.fbpe").read_bytes())
    start, size = header["sections"]["token_bytes"]
    for at, byte in (
        ("Ã".encode(), 0xFF),
        (b"low", 0xA0),
    ):  # an invalid byte; a token that begins within a character
        damaged = bytearray(tables)
        damaged[tables.index(at, start, start + size)] = byte
        with pytest.raises(FormatError, match="token is not UTF-8"):
            fastbpe.load(sealed(header, bytes(damaged)))


@pytest.mark.parametrize("key", ["prefix", "suffix", "unknown_token"])
def test_native_file_with_a_surrogate_is_refused(words: Tokenizer, tmp_path: Path, key: str) -> None:
    words.save(tmp_path / "words.fbpe")
    header, tables = parts((tmp_path / "words.fbpe").read_bytes())
    header["spelling"][key] = "\ud800"
    with pytest.raises(FormatError, match="contains a surrogate"):
        fastbpe.load(sealed(header, tables))


def test_added_token_after_a_greater_id_of_the_vocabulary_is_not_written_under_another_id(tmp_path: Path) -> None:
    """tokenizers numbers new tokens from the size of the vocabulary, here 2, although one has the id 5."""
    model = {"type": "WordLevel", "vocab": {"a": 0, "<b>": 5}, "unk_token": "a"}
    listed = [tokenizer_json.added(5, "<b>", special=True)]
    loaded = fastbpe.load(json.dumps({"version": "1.0", "added_tokens": listed, "model": model}).encode())
    with pytest.raises(
        FormatError, match="has the id 6, but the tokenizers library would give this token the id 2"
    ):
        loaded.with_tokens({"<c>": 6}).export(tmp_path / "a.json", verify=False)
    loaded.with_tokens({"<c>": 2}).export(tmp_path / "a.json")
    assert fastbpe.load(tmp_path / "a.json").encode("<c>") == [2]
