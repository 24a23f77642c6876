"""Random tokenizer.json files of the Llama kind: ids, offsets and decoded text equal tokenizers'."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import fastbpe
from fastbpe.formats import native
from fastbpe.formats.huggingface import _vocab_json, read_llama, write_llama
from fastbpe.tokenizer.tokenizer import Tokenizer
from helpers import pipeline_check
from helpers.random_pipelines import random_decoder, random_processor, sequence_of
from helpers.sampling import FULL, n_rounds
from helpers.shared_data import corpus, data_file

tokenizers = pytest.importorskip("tokenizers")

METASPACE = "▁"
ROUNDS = n_rounds(160, 5000)
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": METASPACE}
PREPEND = {"type": "Prepend", "prepend": METASPACE}
FALLBACK = [
    {"type": "Replace", "pattern": {"String": METASPACE}, "content": " "},
    {"type": "ByteFallback"},
    {"type": "Fuse"},
]
ROBERTA = {
    "type": "RobertaProcessing",
    "sep": ["</s>", 2],
    "cls": ["<s>", 1],
    "trim_offsets": True,
    "add_prefix_space": False,
}
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}


def metaspace(rng: random.Random) -> dict[str, Any]:
    scheme = rng.choice(["always", "first", "never"])
    return {"type": "Metaspace", "replacement": METASPACE, "prepend_scheme": scheme, "split": rng.random() < 0.5}


def vocabulary(rng: random.Random) -> tuple[dict[str, int], list[str]]:
    """Return tokens and merges: all ways to make a token, in order or not, or some of them."""
    letters = rng.sample(["a", "b", "c", "é", "漢", ".", "\n"], rng.randint(2, 4))
    tokens = [METASPACE, *letters]
    for _ in range(rng.randint(0, 25)):
        made = rng.choice(tokens) + rng.choice(tokens)
        if made not in tokens and len(made) < 8:
            tokens.append(made)
    order = tokens[1 + len(letters) :]
    if rng.random() < 0.3:
        rng.shuffle(order)
    merges = [
        (made[:cut], made[cut:])
        for made in order
        for cut in rng.sample(range(1, len(made)), len(made) - 1)
        if made[:cut] in tokens and made[cut:] in tokens
    ]
    what = rng.random()
    if what < 0.2:
        merges = [merge for merge in merges if rng.random() < 0.9]
    elif what < 0.4:
        rng.shuffle(merges)
    elif what < 0.5 and len(letters) > 2:  # a character without a token
        tokens.remove(letters[-1])
        merges = [pair for pair in merges if letters[-1] not in pair]
    if not merges:
        tokens = [token for token in tokens if len(token) == 1]
    rng.shuffle(tokens)
    listed = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *tokens]
    return {token: i for i, token in enumerate(listed)}, [f"{left} {right}" for left, right in merges]


def added_tokens(rng: random.Random, vocab: dict[str, int]) -> list[dict[str, Any]]:
    names = ["<s>", "</s>", *rng.sample(["X", "<x>", "ab", "a", " y", "▁a", "Xb", "z z"], rng.randint(0, 4))]
    if rng.random() < 0.7:
        names.insert(0, "<unk>")
    plain = rng.random() < 0.4
    out = []
    number = len(vocab)
    for name in names:
        flags = {
            flag: not plain and rng.random() < 0.25 for flag in ("single_word", "lstrip", "rstrip", "normalized")
        }
        special = name.startswith("<") or rng.random() < 0.5
        out.append({"id": vocab.get(name, number), "content": name, "special": special, **flags})
        number += name not in vocab
    return out


def document(rng: random.Random) -> dict[str, Any]:
    vocab, merges = vocabulary(rng)
    by_metaspace = rng.random() < 0.6
    steps = rng.choice([[], [REPLACE]]) if by_metaspace else rng.choice([[PREPEND, REPLACE], [REPLACE]])
    added = added_tokens(rng, vocab)
    for token in added if steps else ():
        token["normalized"] = token["normalized"] and not token["lstrip"] and not token["rstrip"]
    fallback = {"type": "Sequence", "decoders": FALLBACK + ([STRIP] if rng.random() < 0.6 else [])}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": {"type": "Sequence", "normalizers": steps} if steps else None,
        "pre_tokenizer": metaspace(rng) if by_metaspace else None,
        "post_processor": None,
        "decoder": metaspace(rng) if rng.random() < 0.3 else fallback,
        "model": {
            "type": "BPE",
            "unk_token": "<unk>",
            "fuse_unk": rng.random() < 0.5,
            "byte_fallback": rng.random() < 0.7,
            "vocab": vocab,
            "merges": merges,
        },
    }


def texts(rng: random.Random) -> list[str]:
    parts = [*"abcé漢.Xyz🦙", " ", " ", "  ", METASPACE, "\n", "<s>", "</s>", "<x>", "<unk>", "ab", "z z", "X"]
    return ["", " ", METASPACE] + ["".join(rng.choices(parts, k=rng.randint(1, 12))) for _ in range(30)]


def compare(seed: int) -> None:
    rng = random.Random(seed)
    file = json.dumps(document(rng))
    peer = tokenizers.Tokenizer.from_str(file)
    ours = fastbpe.load(file.encode())
    assert ours.mode == "codepoint"
    for text in texts(rng):
        peer.encode_special_tokens = False
        theirs = peer.encode(text, add_special_tokens=False)
        ids, places = ours.encode_with_offsets(text, allowed_special="all")
        assert ours.encode(text, allowed_special="all") == theirs.ids, (seed, text)
        assert ids == theirs.ids, (seed, text)
        assert places == theirs.offsets, (seed, text)
        compare_decoded(ours, peer, ids, (seed, text))
        peer.encode_special_tokens = True
        theirs = peer.encode(text, add_special_tokens=False)
        assert ours.encode_ordinary(text) == theirs.ids, (seed, text)
        assert ours.encode_with_offsets(text, disallowed_special=()) == (theirs.ids, theirs.offsets), (seed, text)
    for _ in range(20):
        compare_decoded(ours, peer, rng.choices(range(ours.vocab_size), k=rng.randint(1, 8)), seed)


def compare_decoded(ours: Tokenizer, peer: Any, ids: list[int], what: object) -> None:
    for skips in (False, True):
        text = peer.decode(ids, skip_special_tokens=skips)
        assert ours.decode(ids, skip_special_tokens=skips) == text, (what, ids)
        assert ours.decode_batch([ids, []], skip_special_tokens=skips) == [text, ""], (what, ids)
        with_others = [ids[0], 1 << 40, *ids[1:], -1] if ids else [-1]
        assert ours.decode(with_others, unknown_ids="skip", skip_special_tokens=skips) == text, (what, ids)
        if "\ufffd" not in text:
            stream = ours.decoder(skip_special_tokens=skips)
            assert "".join([stream.push(token_id) for token_id in ids]) + stream.finish() == text, (what, ids)
            assert skips or ours.decode_bytes(ids).decode() == text, (what, ids)


@pytest.mark.sample(1)
@pytest.mark.parametrize("part", range(5))
def test_random_files_equal_tokenizers(part: int) -> None:
    for seed in range(part, ROUNDS, 5):
        compare(seed)


def with_other_ends(rng: random.Random) -> dict[str, Any]:
    """Return a file of the Llama kind with any post-processors, and in half of the cases any decoders."""
    made = document(rng)
    processors = [random_processor(rng) for _ in range(rng.choice([1, 1, 2]))]
    if sum(one["type"] != "ByteLevel" for one in processors) > 1:
        processors.pop()  # if several add ids, the result of tokenizers depends on the order of a hash table
    made["post_processor"] = sequence_of(processors, "processors", rng)
    if rng.random() < 0.5:
        decoders = [random_decoder(rng) for _ in range(rng.choice([0, 1, 1, 2, 3]))]
        made["decoder"] = sequence_of(decoders, "decoders", rng)
    return made


@pytest.mark.sample(1)
@pytest.mark.parametrize("part", range(5))
def test_files_with_any_decoders_and_post_processors_equal_tokenizers(part: int) -> None:
    for seed in range(part, ROUNDS, 5):
        rng = random.Random(f"ends {seed}")
        with pipeline_check.silent():
            found = pipeline_check.compare(with_other_ends(rng), texts(rng), pipeline_check.FACES["load"])
        assert found.kind == pipeline_check.EQUAL, (seed, found)


@pytest.mark.daily
def test_offsets_are_trimmed_as_in_tokenizers() -> None:
    """The code-point reader has no trimmed offsets, so it leaves such a file to the reader of characters."""
    file = file_of("phi3")
    made = json.loads(file)
    made["post_processor"] = ROBERTA
    peer = tokenizers.Tokenizer.from_str(json.dumps(made))
    ours = fastbpe.load(json.dumps(made).encode())
    assert (fastbpe.load(file).mode, ours.mode) == ("codepoint", "character")
    for text in ["a\nb", " \n\n a", "</s> \t", "\u3000a b\u00a0"]:
        theirs = peer.encode(text, add_special_tokens=False)
        assert ours.encode_with_offsets(text, allowed_special="all") == (theirs.ids, theirs.offsets), text


FILES = {
    "phi3": ("phi3_mini_tokenizer.json", {}),
    "openllama": ("openllama_zh_en_tokenizer.json", {}),
    # Like Mistral's third, Llama's without "legacy", Gemma's, and those trained by tokenizers.
    "first": (
        "phi3_mini_tokenizer.json",
        {
            "normalizer": None,
            "pre_tokenizer": {
                "type": "Metaspace",
                "replacement": METASPACE,
                "prepend_scheme": "first",
                "split": False,
            },
        },
    ),
    "replace": (
        "phi3_mini_tokenizer.json",
        {
            "normalizer": REPLACE,
            "pre_tokenizer": {
                "type": "Split",
                "pattern": {"String": " "},
                "behavior": "MergedWithPrevious",
                "invert": False,
            },
            "decoder": {"type": "Sequence", "decoders": FALLBACK},
        },
    ),
    "split": (
        "openllama_zh_en_tokenizer.json",
        {
            "normalizer": None,
            "pre_tokenizer": {"type": "Metaspace", "replacement": METASPACE, "add_prefix_space": True},
            "decoder": {"type": "Metaspace", "replacement": METASPACE, "add_prefix_space": True},
        },
    ),
}


def file_of(name: str) -> bytes:
    published, changes = FILES[name]
    data = data_file("vocab", published).read_bytes()
    return json.dumps({**json.loads(data), **changes}).encode() if changes else data


def lines_of(tokenizer: Tokenizer, name: str, rng: random.Random) -> list[str]:
    """Return the lines of a corpus, some with special and added tokens inserted at random positions."""
    names = [*tokenizer.special_tokens, *(token.content for token in tokenizer.added_tokens)]
    lines = corpus(name, None if FULL else 15_000).split("\n")
    for line in lines[:100]:
        at = rng.randint(0, len(line))
        lines.append(
            line[:at] + rng.choice(["", " ", "  "]) + rng.choice(names) + rng.choice(["", " "]) + line[at:]
        )
    return lines


@pytest.mark.daily
@pytest.mark.sample(5)
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("text", ["english.txt", "multilingual.txt", "json_yaml.txt", "emoji_mixed.txt"])
def test_published_files_on_corpora_equal_tokenizers(name: str, text: str) -> None:
    data = file_of(name)
    peer, ours = tokenizers.Tokenizer.from_str(data.decode()), fastbpe.load(data)
    assert ours.mode == "codepoint"
    peer.no_truncation()
    peer.no_padding()
    lines = lines_of(ours, text, random.Random(5))
    theirs = [encoding.ids for encoding in peer.encode_batch(lines, add_special_tokens=False)]
    assert ours.encode_batch(lines, allowed_special="all") == theirs
    assert ours.decode_batch(theirs, skip_special_tokens=True) == peer.decode_batch(theirs)
    assert ours.decode_batch(theirs) == peer.decode_batch(theirs, skip_special_tokens=False)
    whole = "\n".join(lines)
    encoding = peer.encode(whole, add_special_tokens=False)
    assert ours.encode(whole, allowed_special="all", num_threads=2) == encoding.ids
    assert ours.encode_with_offsets(whole, allowed_special="all") == (encoding.ids, encoding.offsets)
    assert ours.decode(encoding.ids) == peer.decode(encoding.ids, skip_special_tokens=False)
    assert ours.decode(encoding.ids, skip_special_tokens=True) == peer.decode(encoding.ids)
    peer.encode_special_tokens = True
    theirs = [encoding.ids for encoding in peer.encode_batch(lines, add_special_tokens=False)]
    assert ours.encode_ordinary_batch(lines) == theirs
    stream = ours.decoder()
    assert "".join(map(stream.push, theirs[0])) + stream.finish() == peer.decode(theirs[0])


@pytest.mark.daily
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", FILES)
def test_fast_and_slow_readers_give_the_same_model(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = file_of(name)
    fast = read_llama.parse(data, "file")
    monkeypatch.setattr(_vocab_json, "read", lambda data, **_: None)
    assert fast == read_llama.parse(data, "file")


@pytest.mark.parametrize("part", range(2))
def test_written_files_give_the_same_ids(part: int) -> None:
    for seed in range(part, ROUNDS, 4):
        rng = random.Random(seed)
        model = read_llama.parse(json.dumps(document(rng)).encode(), "file")
        written = write_llama.dump(model)
        assert read_llama.parse(written, "file") == model, seed
        peer, ours = tokenizers.Tokenizer.from_str(written.decode()), Tokenizer(model)
        for text in texts(rng):
            assert ours.encode(text, allowed_special="all") == peer.encode(text, add_special_tokens=False).ids, (
                seed
            )
        again = native.parse(native.dump_code_points(model), "file")
        assert Tokenizer(again).fingerprint == ours.fingerprint
        assert again.conventions == model.conventions


@pytest.mark.daily
def test_added_special_tokens_are_written() -> None:
    ours = fastbpe.load(file_of("first"))
    more = ours.with_special_tokens({"<|new|>": ours.n_vocab})
    assert more.mode == "codepoint"
    written = write_llama.dump(more._family.own)
    peer = tokenizers.Tokenizer.from_str(written.decode())
    text = "a <|new|> b<|end|>  c"
    assert peer.encode(text, add_special_tokens=False).ids == more.encode(text, allowed_special="all")
    assert ours.n_vocab in more.encode(text, allowed_special="all")


def test_invalid_bytes_decode_as_in_tokenizers() -> None:
    ours, peer = fastbpe.load(file_of("phi3")), tokenizers.Tokenizer.from_str(file_of("phi3").decode())
    a = ours.token_to_id("a")
    assert a is not None
    first = 3  # the id of <0x00>
    for data in (b"\xc3\xa9\xff", b"\xff\xc3\xa9", b"\xe6\x97", b" \xff", b"\xc3", b"\xf0\x9f\xa6\x99\x99"):
        ids = [first + byte for byte in data]
        assert ours.decode([*ids, a]) == peer.decode([*ids, a]) == "\ufffd" * len(data) + "a"
        assert ours.decode([a, *ids, a, *ids]) == peer.decode([a, *ids, a, *ids])
        with pytest.raises(UnicodeDecodeError):
            ours.decode(ids, errors="strict")
        assert ours.decode([a, *ids], errors="ignore") == "a" + data.decode(errors="ignore")
    stream = ours.decoder()
    pushed = [stream.push(first + byte) for byte in b"\xc3\xa9\xff\xc3\xa9"] + [stream.push([a, first + 0xC3])]
    assert pushed == ["", "é", "\ufffd", "\ufffd", "\ufffd", "a"]
    assert stream.finish() == "\ufffd"
    assert [stream.push(first + 0x20), stream.push(first + 0x20)] == ["", " "]


@pytest.mark.parametrize("name", ["phi3_mini", "falcon", "phi2"])
def test_tokens_of_published_files_equal_tokenizers(name: str) -> None:
    data = data_file("vocab", f"{name}_tokenizer.json").read_bytes()
    ours, peer = fastbpe.load(data), tokenizers.Tokenizer.from_str(data.decode())
    named = {*ours.special_tokens.values(), *(token.id for token in ours.added_tokens)}
    assert named
    vocab = ours.vocab
    for token_id in named:
        assert ours.id_to_token(token_id).decode() == peer.id_to_token(token_id)
        assert ours.decode([token_id]) == peer.decode([token_id], skip_special_tokens=False)
        assert ours.decode([token_id], skip_special_tokens=True) == peer.decode([token_id])
        assert vocab[token_id] == ours.id_to_token(token_id)
        assert (token_id in ours.special_tokens.values()) == (
            ours.decode([token_id], skip_special_tokens=True) == ""
        )
    if name == "phi3_mini":
        assert ours.id_to_token(32010) == b"<|user|>"
        assert ours.decode([32010]) == "<|user|>"
    ids = [ours.n_vocab + 5, *sorted(named), 1 << 31]
    assert ours.decode(ids, unknown_ids="skip") == peer.decode(ids, skip_special_tokens=False)
