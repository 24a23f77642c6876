"""Decoders of a tokenizer.json against tokenizers: random lists of steps over small vocabularies of odd tokens."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import fastbpe.tokenizers as face
from fastbpe.errors import FormatError, PatternError
from fastbpe.formats.huggingface.decoder_json import canonical, flattened
from fastbpe.normalization.decoder_steps import apply, make_steps
from fastbpe.tokenizer.families.step_decoding import StepDecoding
from helpers.sampling import SEED, n_rounds
from helpers.tokenizer_json import added

tokenizers = pytest.importorskip("tokenizers")

N_DECODERS = n_rounds(400, 20_000)
TOKENS = [
    *("a", "b", "ab", "##a", "##", "a</w>", "</w>", "</w></w>b", "▁", "▁a", "a▁", "▁▁b", " ", "  a", "a ", ""),
    *("<0xE2>", "<0x96>", "<0x81>", "<0x41>", "<0xfF>", "<0x+1>", "<0x-1>", "<0xZZ>", "<0x41>a", "<0xC3>"),
    *("Ġa", "Ã", "©", "Ġ", "é", "漢", "💩", "Ã©", "<pad>", "<pad>a", ".", " .", " '", " n't", " do not", "'s"),
    *("|", "\ufffd", "\n", "ð", "Ł", "Ĵ", "</", "\0", "a\0b", "w>", "aaa", "<0xA9>", "<0x", "0x41>"),
]  # fmt: skip
TEXTS = ["", "a", "aa", "##", "</w>", "▁", " ", "<pad>", "|", "-", "é", "\ufffd", "<0x41>", "\n"]
REGEXES = ["a|", "^a|b$", "x*", r"\s+", "[a-b]+", "(a)(b)", "▁", "."]


def random_step(rng: random.Random) -> dict[str, Any]:
    """Make a step with options of any kind."""
    flag = rng.random() < 0.5
    text, other = rng.choice(TEXTS), rng.choice(TEXTS)
    one, n = rng.choice(["▁", " ", "a", "_", "é", "Ġ"]), rng.choice([0, 0, 1, 2, 3])
    pattern = {"Regex": rng.choice(REGEXES)} if rng.random() < 0.3 else {"String": text}
    return rng.choice(
        [
            {"type": "ByteLevel", "add_prefix_space": flag, "trim_offsets": not flag, "use_regex": flag},
            {"type": "ByteFallback"},
            {"type": "ByteFallback"},
            {"type": "Metaspace", "replacement": one, "prepend_scheme": rng.choice(["always", "first", "never"])},
            {"type": "WordPiece", "prefix": rng.choice([text, "##"]), "cleanup": flag},
            {"type": "BPEDecoder", "suffix": rng.choice([text, "</w>"])},
            {"type": "CTC", "pad_token": text, "word_delimiter_token": other, "cleanup": flag},
            {"type": "Fuse"},
            {"type": "Fuse"},
            {"type": "Strip", "content": one, "start": n, "stop": 0 if flag else rng.choice([0, 1, 2])},
            {"type": "Replace", "pattern": pattern, "content": other},
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        ]
    )


def random_decoder(rng: random.Random) -> dict[str, Any] | None:
    """Make a decoder of up to four steps, or none."""
    if rng.random() < 0.05:
        return None
    steps = [random_step(rng) for _ in range(rng.choice([1, 1, 2, 2, 3, 4]))]
    if len(steps) == 1 and rng.random() < 0.7:
        return steps[0]
    if len(steps) > 2 and rng.random() < 0.2:
        steps = [steps[0], {"type": "Sequence", "decoders": steps[1:]}]
    return {"type": "Sequence", "decoders": steps}


class Twins:
    """A decoder with a random vocabulary here, and in tokenizers."""

    def __init__(self, decoder: dict[str, Any] | None, rng: random.Random) -> None:
        tokens = rng.sample(TOKENS, rng.randint(3, len(TOKENS)))
        n = len(tokens)
        ids = [*range(n)]
        if rng.random() < 0.3:  # ids without a token between the others
            ids = sorted(rng.sample(range(n + 5), n))
        special = ["<s>", rng.choice(["▁s", "a b", "<0x41>"])]
        made = {"type": "BPE", "vocab": dict(zip(tokens, ids, strict=True)), "merges": []}
        document = json.loads(tokenizers.Tokenizer(tokenizers.models.BPE()).to_str())
        document |= {"model": document["model"] | made, "decoder": decoder}
        new = [token for token in special if token not in tokens]
        document["added_tokens"] = [
            added(n + i, token, special=rng.random() < 0.7) for i, token in enumerate(new) if n + i not in ids
        ]
        self.theirs = tokenizers.Tokenizer.from_str(json.dumps(document))
        spelled: list[bytes] = [b""] * (n + 7)
        empty = []
        for i in range(len(spelled)):
            token = self.theirs.id_to_token(i)
            spelled[i] = (token or "").encode()
            empty += [i] * (token == "")
        by_id = self.theirs.get_added_tokens_decoder()
        self.special = [i for i, token in by_id.items() if token.special]
        self.ids = [i for i in range(len(spelled)) if spelled[i] or i in empty]
        self.ours = StepDecoding(flattened(decoder), spelled, self.special, empty=empty)

    def random_ids(self, rng: random.Random) -> list[int]:
        """List ids, with some twice in a row."""
        ids = rng.choices(self.ids, k=rng.choice([0, 1, 1, 2, 3, 5, 8, 20]))
        return [i for i in ids for _ in range(rng.choice([1, 1, 1, 2]))]


def or_none(call: Callable[[], str]) -> str | None:
    """Call tokenizers; None: it panics."""
    try:
        return call()
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return None


def pushed(twins: Twins, ids: list[int], skip: bool, rng: random.Random) -> str:
    """Decode with a stream, by ids or groups of ids."""
    stream = twins.ours.stream(skip=skip)
    texts, at = [], 0
    while at < len(ids):
        n = rng.choice([1, 1, 2, 5])
        texts.append(stream.push(ids[at] if n == 1 else ids[at : at + n]))
        at += n
    return "".join([*texts, stream.finish()])


@pytest.mark.daily
def test_random_decoders_decode_like_tokenizers(capfd: pytest.CaptureFixture[str]) -> None:
    n_compared = 0
    for number in range(N_DECODERS):
        rng = random.Random(f"{SEED} {number}")
        decoder = random_decoder(rng)
        twins = Twins(decoder, rng)
        batch = [twins.random_ids(rng) for _ in range(12)]
        for skip in (False, True):
            expected = [or_none(partial(twins.theirs.decode, ids, skip_special_tokens=skip)) for ids in batch]
            place = f"seed {SEED} {number}: {decoder} skip={skip}"
            found = twins.ours.decode_batch(batch, skip=skip)
            for ids, ours, wanted in zip(batch, found, expected, strict=True):
                told = f"{place} {[twins.theirs.id_to_token(i) for i in ids]}"
                if wanted is not None:
                    assert ours == wanted, told
                    n_compared += 1
                assert twins.ours.decode(ids, skip=skip) == ours, told
                assert pushed(twins, ids, skip, rng) == ours, told
                if not skip:
                    data = twins.ours.decode_bytes(ids)
                    assert ours == data.decode("utf-8", "replace") or b"<0x" in b"".join(twins.ours._tokens), told
                    if ids:  # from no token CTC may make a space
                        assert b"".join(twins.ours.tokens(ids)) == data, told
                    text, offsets = twins.ours.decode_with_offsets(ids)
                    assert text == ours, told
                    assert len(offsets) == len(ids), told
                    assert offsets == sorted(offsets), told
        capfd.readouterr()  # tokenizers prints its panics
    assert n_compared > N_DECODERS * 20


def test_random_tokens_that_no_vocabulary_has_decode_like_tokenizers(capfd: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(SEED)
    base = json.loads(tokenizers.Tokenizer(tokenizers.models.BPE()).to_str())
    for _ in range(N_DECODERS):
        decoder = random_decoder(rng)
        if decoder is None:
            continue
        theirs = tokenizers.Tokenizer.from_str(json.dumps({**base, "decoder": decoder})).decoder
        ours, of_face = make_steps(decoder), face.decoders.find(decoder)
        for _ in range(10):
            tokens = rng.choices([*TOKENS, *TEXTS], k=rng.randrange(8))
            wanted = or_none(partial(theirs.decode, tokens))
            if wanted is None:
                continue
            told = f"seed {SEED}: {decoder} {tokens}"
            assert apply(ours, tokens) == wanted, told
            assert of_face.decode(tokens) == wanted, told
    capfd.readouterr()


# Streams


def streamed(module: Any, tokenizer: Any, ids: list[int], n_before: int, skip: bool) -> list[str | None]:
    """Decode id by id. The last item is the name of an error that ends it."""
    stream = module.decoders.DecodeStream(ids[:n_before], skip)
    texts: list[str | None] = []
    try:
        for i in ids[n_before:]:
            texts.append(stream.step(tokenizer, i))
    except BaseException as error:
        texts.append(type(error).__name__)
    return texts


JOINING: list[dict[str, Any]] = [
    {"type": "BPEDecoder", "suffix": "</w>"},
    {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True},
    {"type": "WordPiece", "prefix": "##", "cleanup": True},
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
]


@pytest.mark.parametrize("decoder", JOINING, ids=lambda decoder: decoder["type"])
def test_stream_gives_the_texts_of_tokenizers_if_they_depend_on_other_ids(decoder: dict[str, Any]) -> None:
    rng = random.Random(f"{SEED} {decoder}")
    for _ in range(20):
        check_streams(Twins(decoder, rng), rng, str(decoder))


def check_streams(twins: Twins, rng: random.Random, place: str) -> None:
    """Compare streams of the face with those of tokenizers, on random lists."""
    ours = face.Tokenizer.from_str(twins.theirs.to_str())
    for _ in range(12):
        ids, n_before, skip = twins.random_ids(rng), rng.choice([0, 0, 0, 1, 3]), rng.random() < 0.5
        wanted = streamed(tokenizers, twins.theirs, ids, n_before, skip)
        if wanted and wanted[-1] == "PanicException":
            continue
        told = f"seed {SEED}: {place} {[twins.theirs.id_to_token(i) for i in ids]} {n_before} skip={skip}"
        assert streamed(face, ours, ids, n_before, skip) == wanted, told


@pytest.mark.daily
def test_random_decoders_stream_like_tokenizers(capfd: pytest.CaptureFixture[str]) -> None:
    for number in range(N_DECODERS):
        rng = random.Random(f"{SEED} stream {number}")
        decoder = random_decoder(rng)
        check_streams(Twins(decoder, rng), rng, f"{number} {decoder}")
        capfd.readouterr()  # tokenizers prints its panics


# Files

VALUES = [
    None,
    True,
    False,
    0,
    1,
    -1,
    1.0,
    1 << 64,
    (1 << 64) - 1,
    "",
    "a",
    "é",
    "e\u0301",
    "ab",
    "never",
    "Never",
]
VALUES += ["first", {"String": "a"}, {"Regex": "a"}, {"String": "a", "Regex": "a"}, {"String": 1}, {}, [], ["a"]]
KEYS = {
    "BPEDecoder": ["suffix"],
    "ByteLevel": ["add_prefix_space", "trim_offsets", "use_regex"],
    "WordPiece": ["prefix", "cleanup"],
    "Metaspace": ["replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"],
    "CTC": ["pad_token", "word_delimiter_token", "cleanup"],
    "Replace": ["pattern", "content"],
    "Strip": ["content", "start", "stop"],
    "Fuse": [],
    "ByteFallback": [],
    "Sequence": ["decoders"],
    "NFC": ["suffix", "content", "pattern", "start", "stop"],
}
GOOD = {
    "suffix": "a", "add_prefix_space": True, "trim_offsets": True, "prefix": "##", "cleanup": True, "start": 1,
    "replacement": "▁", "pad_token": "a", "word_delimiter_token": "b", "pattern": {"String": "a"}, "stop": 0,
    "content": "a", "decoders": [],
}  # fmt: skip


def random_description(rng: random.Random, depth: int = 0) -> Any:
    """Make the JSON of a decoder that tokenizers may take or refuse."""
    kind = rng.choice([*KEYS])
    made: Any = {"type": kind} if rng.random() < 0.8 else {}
    for key in KEYS[kind] + ([rng.choice([*GOOD])] if rng.random() < 0.2 else []):
        if rng.random() < 0.85 and key in GOOD:
            made[key] = GOOD[key]
        elif rng.random() < 0.5:
            made[key] = rng.choice(VALUES)
    if "decoders" in made and depth < 2 and rng.random() < 0.7:
        made["decoders"] = [random_description(rng, depth + 1) for _ in range(rng.randrange(3))]
    if rng.random() < 0.05:
        made = [value for key, value in made.items() if key != "type"]
    return rng.choice(VALUES) if rng.random() < 0.02 else made


def test_random_descriptions_are_taken_or_refused_like_tokenizers() -> None:
    rng = random.Random(SEED)
    base = json.loads(tokenizers.Tokenizer(tokenizers.models.BPE()).to_str())
    n_taken = 0
    for _ in range(N_DECODERS * 10):
        described = random_description(rng)
        if described is None:
            continue
        try:
            theirs = json.loads(
                tokenizers.Tokenizer.from_str(json.dumps({**base, "decoder": described})).to_str()
            )["decoder"]
        except Exception:
            with pytest.raises((FormatError, PatternError)):
                pytest.fail(f"seed {SEED}: tokenizers refuses {described}; here: {canonical(described)}")
            continue
        assert canonical(described) == theirs, f"seed {SEED}: {described}"
        n_taken += 1
    assert n_taken > N_DECODERS
