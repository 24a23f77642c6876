"""Random tokenizer.json files, with every model, step and option of tokenizers, and texts for them.

`random_pipeline` makes a file that tokenizers loads, with a vocabulary that tokenizers has trained, or one of a
few letters.
"""

from __future__ import annotations

import base64
import copy
import itertools
import json
import random
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import tokenizers as stock

from fastbpe._core.normalize.charsmap_builder import build_trie
from fastbpe.normalization.sentencepiece_rules import charsmap
from helpers.split_oracles import random_texts as hard_texts
from helpers.tokenizer_json import LETTERS, SHOWN, TEMPLATE, added, document, show

Json = dict[str, Any]

BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
SCHEMES = ("always", "first", "never")
#: The last two match the empty text, too: a Replace by them may put text before all others, which has no place.
REGEXES = (
    *(r"\s+", r"\s+|a", "[ab]+", r"\d", r"\p{L}+", r" ?\p{L}+| ?\p{N}+|\s+", "a|1+", "(?i:s|é)", "^a|b$"),
    *(r"\p{Lu}?\p{Ll}+", r"\w+|[^\w\s]+", r"\s|\p{P}|\p{S}", r"[\p{L}\p{M}]+|\p{N}{1,3}", "(?<!a)b", "."),
    *(r"[^\n]+", r"(?=[A-Z])", "b?"),
)
STRINGS = (" ", "a", "ab", "\u2581", ".", "é", "Ġ", "漢", "  ")
SCRIPTS = (
    *((0, 31), (32, 126), (0x7F, 0xA0), (0xA0, 0x24F), (0x300, 0x36F), (0x370, 0x5FF), (0x600, 0x6FF)),
    *((0x900, 0x97F), (0xE00, 0xE7F), (0x1100, 0x11FF), (0x2000, 0x206F), (0x3040, 0x30FF), (0x4E00, 0x9FFF)),
    *((0xAC00, 0xD7A3), (0xFB00, 0xFDFF), (0xFF00, 0xFFFD), (0x1F300, 0x1FAFF), (0x1D400, 0x1D7FF)),
    (0x10000, 0x10FFFF),
)
CONTENTS = (
    *("<s>", "<s", "s>", "ab", "abc", "a", "b", "a b", "c 1", " ", "  ", "\n", "é", "e\u0301", "\u0301", "E"),
    *("À", "B ", "Ġa", "\u2581a", "\u2581", "12", ".", "'s", "漢字", "<unk>", "<0x41>", "ﬁ", "ab</w>", "##a", "_"),
)
SOURCES_OF_RULES = ("a", "b", "é", "e\u0301", "A", " ", "\n", "漢", "1", "ab", ".", "\u200b")


def coin(rng: random.Random, share: float = 0.5) -> bool:
    return rng.random() < share


def sequence_of(steps: Sequence[Json], key: str, rng: random.Random) -> Json | None:
    """Return the steps as a file has them: none, one, or a sequence, now and then within a sequence."""
    if not steps:
        return None if coin(rng, 0.8) else {"type": "Sequence", key: []}
    if len(steps) == 1 and coin(rng, 0.6):
        return steps[0]
    if len(steps) > 1 and coin(rng, 0.1):
        steps = [{"type": "Sequence", key: [*steps[:2]]}, *steps[2:]]
    return {"type": "Sequence", key: [*steps]}


# Normalizers


def packed(rules: Mapping[str, str]) -> bytes:
    """Return the charsmap of rules."""
    sources = sorted(rules, key=str.encode)
    targets, starts = b"", []
    for source in sources:
        starts.append(len(targets))
        targets += rules[source].encode() + b"\0"
    trie = build_trie([source.encode() for source in sources], starts)
    return struct.pack("<I", len(trie)) + trie + targets


@lru_cache
def _published_charsmap(name: str) -> str:
    return base64.b64encode(charsmap(name)).decode()


def random_charsmap(rng: random.Random) -> str:
    if coin(rng, 0.1):
        return _published_charsmap(rng.choice(["nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf"]))
    sources = rng.sample(SOURCES_OF_RULES, rng.randint(1, 5))
    return base64.b64encode(packed({one: rng.choice(["", "x", "ab", " ", "é漢"]) for one in sources})).decode()


def random_pattern(rng: random.Random, regexes: Sequence[str] = REGEXES) -> Json:
    return {"Regex": rng.choice(regexes)} if coin(rng) else {"String": rng.choice(STRINGS)}


def random_normalizer(rng: random.Random) -> Json:
    """Return one normalizer as a file describes it."""
    kinds = ["NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled", "Lowercase", "Strip", "StripAccents", "ByteLevel"]
    kind = rng.choice([*kinds, *["Replace", "Prepend", "BertNormalizer"] * 2])
    options: dict[str, Json] = {
        "Precompiled": {"precompiled_charsmap": random_charsmap(rng)},
        "Strip": {"strip_left": coin(rng), "strip_right": coin(rng)},
        "Replace": {
            "pattern": rng.choice([random_pattern(rng, REGEXES[:-2]), {"String": " "}]),
            "content": rng.choice(["", " ", "\u2581", "b a", "é"]),
        },
        "Prepend": {"prepend": rng.choice(["\u2581", " ", "a", "é"])},
        "BertNormalizer": {
            "clean_text": coin(rng),
            "handle_chinese_chars": coin(rng),
            "strip_accents": rng.choice([None, True, False]),
            "lowercase": coin(rng),
        },
    }
    return {"type": kind, **options.get(kind, {})}


# Pre-tokenizers


def random_step(rng: random.Random) -> Json:
    """Return one pre-tokenizer as a file describes it."""
    kinds = ["Whitespace", "WhitespaceSplit", "BertPreTokenizer", "Punctuation", "Digits", "CharDelimiterSplit"]
    kind = rng.choice([*kinds, "UnicodeScripts", "FixedLength", *["Split", "ByteLevel", "Metaspace"] * 3])
    options: dict[str, Json] = {
        "Punctuation": {"behavior": rng.choice(BEHAVIORS)},
        "Digits": {"individual_digits": coin(rng)},
        "CharDelimiterSplit": {"delimiter": rng.choice(" a\u2581é")},
        "FixedLength": {"length": rng.choice([1, 2, 3, 5, 70])},
        "Split": {"pattern": random_pattern(rng), "behavior": rng.choice(BEHAVIORS), "invert": coin(rng, 0.3)},
        "ByteLevel": {"add_prefix_space": coin(rng), "trim_offsets": coin(rng), "use_regex": coin(rng)},
        "Metaspace": random_metaspace(rng),
    }
    return {"type": kind, **options.get(kind, {})}


def random_metaspace(rng: random.Random) -> Json:
    return {
        "replacement": rng.choice("\u2581\u2581\u2581_Ġ"),
        "prepend_scheme": rng.choice(SCHEMES),
        "split": coin(rng, 0.7),
    }


# Decoders and post-processors


def random_decoder(rng: random.Random) -> Json:
    """Return one decoder as a file describes it."""
    kinds = ["ByteFallback", "Metaspace", "WordPiece", "BPEDecoder", "CTC", "Fuse", "Strip", "Replace"]
    kind = rng.choice([*kinds, "ByteLevel", "ByteLevel"])
    options: dict[str, Json] = {
        "ByteLevel": {"add_prefix_space": coin(rng), "trim_offsets": coin(rng), "use_regex": coin(rng)},
        "Metaspace": random_metaspace(rng),
        "WordPiece": {"prefix": rng.choice(["##", "#", "", "a"]), "cleanup": coin(rng)},
        "BPEDecoder": {"suffix": rng.choice(["</w>", "</w>", "a", "é"])},
        "CTC": {
            "pad_token": rng.choice(["<pad>", "a", ""]),
            "word_delimiter_token": rng.choice(["|", "", "Ġ", "b"]),
            "cleanup": coin(rng),
        },
        "Strip": {"content": rng.choice(" \u2581aé"), "start": rng.randint(0, 2), "stop": rng.randint(0, 2)},
        "Replace": {"pattern": random_pattern(rng), "content": rng.choice(["", " ", "\u2581", "ba"])},
    }
    return {"type": kind, **options.get(kind, {})}


def random_processor(rng: random.Random) -> Json:
    """Return one post-processor as a file describes it."""
    flags = {"trim_offsets": coin(rng, 0.8), "add_prefix_space": coin(rng)}
    ends = {"sep": ["b", 1], "cls": ["a", 2]}
    return rng.choice(
        [
            {"type": "ByteLevel", **flags, "use_regex": True},
            {"type": "RobertaProcessing", **ends, **flags},
            {"type": "BertProcessing", **ends},
            TEMPLATE,
        ]
    )


# Models


def spelled_letters(rng: random.Random, in_bytes: bool) -> list[str]:
    """Return letters of which a vocabulary is made: of texts, or of GPT-2's characters for bytes."""
    texts = [*LETTERS, "\u2581", "Ġ", "𝄞", "漢", "😀", *map(chr, range(0x61, 0x6B))]
    letters = [character for text in texts for character in (show(text.encode()) if in_bytes else text)]
    letters = [*dict.fromkeys(letters)]
    return rng.sample(letters, rng.randint(len(letters) // 2, len(letters)))


def made_model(rng: random.Random, in_bytes: bool) -> Json:
    """Return a model with random merges of a few letters."""
    prefix, suffix = rng.choice([None, None, None, "", "#", "##"]), rng.choice([None, None, None, "", "</w>", "e"])
    letters = spelled_letters(rng, in_bytes)
    spelled = [*letters]
    spelled += [
        f"{before}{letter}{behind}"
        for letter in letters
        for before in ("", prefix or "")
        for behind in ("", suffix or "")
    ]
    vocab = {token: i for i, token in enumerate(dict.fromkeys(spelled))}
    merges: list[list[str]] = []
    for _ in range(rng.choice([0, 5, 20, 60])):
        left, right = rng.choices([*vocab], k=2)
        if prefix and not right.startswith(prefix):
            continue
        whole = left + right[len(prefix or "") :]
        if len(whole) < 12 and [left, right] not in merges:
            merges.append([left, right])
            vocab.setdefault(whole, len(vocab))
    return {"continuing_subword_prefix": prefix, "end_of_word_suffix": suffix, "vocab": vocab, "merges": merges}


def trained_model(rng: random.Random, normalizer: Json | None, pre_tokenizer: Json | None) -> Json | None:
    """Return a model that tokenizers has trained on random texts with these steps; None: it cannot."""
    empty = document({}, [], normalizer=normalizer, decoder=None) | {"pre_tokenizer": pre_tokenizer}
    options: Json = {
        "vocab_size": rng.choice([40, 100, 300, 600]),
        "special_tokens": rng.choice([[], ["<unk>"], ["<s>", "<unk>"]]),
        "initial_alphabet": rng.choice([None, None, SHOWN, [*"abc é"]]),
        "limit_alphabet": rng.choice([None, None, 30, 1000]),
        "continuing_subword_prefix": rng.choice([None, None, None, "##"]),
        "end_of_word_suffix": rng.choice([None, None, None, "</w>"]),
        "max_token_length": rng.choice([None, None, None, 3]),
    }
    given = {name: value for name, value in options.items() if value is not None}
    trainer = stock.trainers.BpeTrainer(show_progress=False, **given)
    words = ["".join(rng.choices("abcdeé ab12.", k=rng.randint(1, 7))) for _ in range(12)]
    texts = [" ".join(rng.choices(words, k=rng.randint(1, 20))) for _ in range(15)]
    texts += itertools.islice(hard_texts(rng.randrange(1 << 30)), 10)
    try:
        tokenizer = stock.Tokenizer.from_str(json.dumps(empty))
        tokenizer.train_from_iterator(texts, trainer)
    except BaseException as error:
        if not is_panic(error) and not isinstance(error, Exception):
            raise
        return None
    model = json.loads(tokenizer.to_str())["model"]
    names = ("continuing_subword_prefix", "end_of_word_suffix", "vocab", "merges")
    return {name: model[name] for name in names} if model["vocab"] else None


def random_options(rng: random.Random, model: Json) -> Json:
    """Return the model with random options, without some of its tokens, and with tokens of bytes."""
    vocab, merges = dict(model["vocab"]), [list(merge) for merge in model["merges"]]
    if coin(rng, 0.4):
        gone = {token for token in vocab if rng.random() < 0.1}
        prefix = len(model["continuing_subword_prefix"] or "")
        kept = [m for m in merges if not gone & {*m, m[0] + m[1][prefix:]}]
        merges, vocab = kept, {token: i for token, i in vocab.items() if token not in gone}
    if coin(rng, 0.1):
        rng.shuffle(merges)
    unknown = rng.choice(["<unk>", "<unk>", None, None, "absent", rng.choice([*vocab, "<unk>"])])
    tokens = [*vocab]
    if unknown not in (None, "absent") and unknown not in vocab:
        tokens.insert(rng.choice([0, len(tokens)]), str(unknown))
    if coin(rng, 0.45):
        every = [f"<0x{byte:02X}>" for byte in range(256)]
        few = [f"<0x{byte:02X}>" for byte in f"é漢a{model['end_of_word_suffix'] or ''}#".encode()]
        some = rng.choice([every, every, [one for one in every if one != "<0x09>"], few, rng.sample(every, 200)])
        tokens += [one for one in dict.fromkeys(some) if one not in vocab]
    ids = [*range(len(tokens))]
    if coin(rng, 0.1):
        rng.shuffle(ids)
    if coin(rng, 0.1):
        ids = sorted(rng.sample(range(len(ids) + 20), len(ids)))
    as_text = coin(rng, 0.3) and not any(" " in token for merge in merges for token in merge)
    return {
        **model,
        "dropout": rng.choice([None, None, None, 0.0]),
        "unk_token": unknown,
        "fuse_unk": coin(rng),
        "byte_fallback": coin(rng, 0.4),
        "ignore_merges": coin(rng, 0.3),
        "vocab": dict(zip(tokens, ids, strict=True)),
        "merges": [" ".join(merge) for merge in merges] if as_text else merges,
    }


def other_model(rng: random.Random, bpe: Json, kind: str) -> Json:
    """Return a Unigram, WordPiece or WordLevel model of a BPE's tokens and other words, with random options."""
    tokens = [token for token in bpe["vocab"] if token]
    tokens = rng.sample(tokens, min(len(tokens), rng.choice([3, 30, 400])))
    letters = ["a", "b", "c", "d", "e", "é", " ", "\u2581", ".", "1", "2", "漢", "Ġ"]
    tokens += ["".join(rng.choices(letters, k=rng.randint(1, 5))) for _ in range(rng.choice([0, 5, 60]))]
    if kind == "Unigram":
        return _unigram(rng, [*dict.fromkeys(tokens)], falls_back=bpe["byte_fallback"])
    model: Json = {"type": kind, "unk_token": bpe["unk_token"] or "<unk>"}
    if kind == "WordPiece":
        prefix = rng.choice(["##", "##", "", "#", "é"])
        tokens += [prefix + token for token in tokens if coin(rng)]
        model |= {"continuing_subword_prefix": prefix, "max_input_chars_per_word": rng.choice([100, 100, 1, 4])}
    if coin(rng, 0.9):
        tokens.append(model["unk_token"])
    return model | {"vocab": {token: i for i, token in enumerate(dict.fromkeys(tokens))}}


def _unigram(rng: random.Random, tokens: list[str], *, falls_back: bool) -> Json:
    """Return a Unigram model of these tokens, with scores of which many are equal."""
    if falls_back:
        tokens += [
            name for byte in range(256) if (name := f"<0x{byte:02X}>") not in tokens and rng.random() < 0.98
        ]
    if coin(rng, 0.1):
        tokens += rng.choices(tokens, k=2)  # of equal pieces the last counts
    style = rng.choice(["few", "whole", "any", "high"])
    scores: dict[str, Callable[[], float]] = {
        "few": lambda: rng.choice([0.0, -1.0, -2.5]),
        "whole": lambda: float(rng.randint(-12, -1)),
        "any": lambda: -rng.random() * rng.choice([1, 12, 1e6]),
        "high": lambda: rng.uniform(-3, 3),
    }
    return {
        "type": "Unigram",
        "unk_id": rng.choice([None, 0, 0, rng.randrange(len(tokens) or 1)]),
        "vocab": [[token, scores[style]()] for token in tokens],
        "byte_fallback": falls_back,
    }


def ids_of(model: Json) -> dict[str, int]:
    """Return the id of each token of a model."""
    vocab = model["vocab"]
    return vocab if isinstance(vocab, dict) else {token: i for i, (token, _) in enumerate(vocab)}


# Whole files


def random_pipeline(rng: random.Random, kind: str = "BPE") -> Json:
    """Return a random file that tokenizers loads, whose added tokens stay different and not empty if normalized.

    If nothing is left of an added token, tokenizers panics, or finds it without end until it has all memory of the
    machine. If two become one, it picks either by chance.
    """
    normalizer = sequence_of(
        [random_normalizer(rng) for _ in range(rng.choice([0, 0, 1, 1, 2, 3]))], "normalizers", rng
    )
    steps = [random_step(rng) for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3]))]
    pre_tokenizer = sequence_of(steps, "pretokenizers", rng)
    in_bytes = any(step["type"] == "ByteLevel" for step in [*steps, *flat(normalizer, "normalizers")])
    model = trained_model(rng, normalizer, pre_tokenizer) if coin(rng, 0.6) else None
    model = random_options(rng, made_model(rng, in_bytes and coin(rng, 0.9)) if model is None else model)
    if kind != "BPE":
        model = other_model(rng, model, kind)
    decoders = [random_decoder(rng) for _ in range(rng.choice([0, 1, 1, 2, 3, 4]))]
    if in_bytes and coin(rng, 0.6):
        decoders = [{"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}]
    processors = [random_processor(rng) for _ in range(rng.choice([0, 0, 1, 2]))]
    if sum(one["type"] != "ByteLevel" for one in processors) > 1:
        processors.pop()  # if several add ids, the result of tokenizers depends on the order of a hash table
    made = document(
        {},
        [],
        normalizer=normalizer,
        post_processor=sequence_of(processors, "processors", rng),
        decoder=sequence_of(decoders, "decoders", rng),
        model=model,
    )
    made["pre_tokenizer"] = pre_tokenizer
    if kind != "BPE":
        made["model"] = model
    vocab = ids_of(model)
    contents = rng.sample(CONTENTS, rng.choice([0, 0, 1, 2, 4])) + rng.choices(
        [*vocab, "<s>"], k=rng.choice([0, 0, 1])
    )
    made["added_tokens"] = random_added(rng, made, [*dict.fromkeys(filter(None, contents))])
    return made


def random_added(rng: random.Random, made: Json, contents: Sequence[str]) -> list[Json]:
    """Return added tokens of those contents that stay different, and not empty, if normalized."""
    vocab = ids_of(made["model"])
    normalizer = stock.Tokenizer.from_str(json.dumps(made)).normalizer
    out: list[Json] = []
    seen: set[str] = set()
    next_id = len(vocab)  # may be a token's id, if ids have gaps: tokenizers gives the added token another one
    for content in contents:
        flags = {key: coin(rng, 0.35) for key in ("special", "normalized", "lstrip", "rstrip", "single_word")}
        if coin(rng):
            flags |= {"lstrip": False, "rstrip": False, "single_word": False}
        found = normalized_by(normalizer, content) if flags["normalized"] else content
        if not found or found in seen or content in seen:
            continue
        seen |= {found, content}
        out.append(added(vocab.get(content, next_id), content, **flags))
        next_id += content not in vocab
    return sorted(out, key=lambda token: token["id"])


def normalized_by(normalizer: Any, text: str) -> str:
    """Return the normalized text; "": tokenizers panics."""
    if normalizer is None:
        return text
    try:
        return str(normalizer.normalize_str(text))
    except BaseException as error:
        if not is_panic(error):
            raise
        return ""


def flat(part: Json | None, key: str) -> Iterator[Json]:
    """Yield the steps of a part, without sequences around them."""
    if part is None:
        return
    if part.get("type") != "Sequence" or not isinstance(part.get(key), list):
        yield part
        return
    for inner in part[key]:
        yield from flat(inner, key)


def is_panic(error: BaseException) -> bool:
    """Tell whether tokenizers has panicked, where it should have raised an error."""
    return type(error).__name__ == "PanicException"


# Damage


def damaged(rng: random.Random, made: Json) -> Json:
    """Return the file with one fault; tokenizers refuses most of them."""
    made = copy.deepcopy(made)
    model = made["model"]
    parts = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "decoder": "decoders"}
    parts["post_processor"] = "processors"
    steps = [step for part, key in parts.items() for step in flat(made[part], key)]
    faults: list[Callable[[], object]] = [
        lambda: made.update({rng.choice([*parts]): {"type": "Other"}}),
        lambda: made.pop(rng.choice(["version", "model"])),
        lambda: made.update({"version": "2.0"}),
        lambda: made["added_tokens"].append({"content": "<new>", "special": True}),
    ]
    faults += _faults_of_bpe(rng, model) if model["type"] == "BPE" else _faults_of_others(rng, model)
    if made["added_tokens"]:
        faults += [lambda: made["added_tokens"][-1].pop(rng.choice(["id", "content", "special", "lstrip"]))]
    steps = [step for step in steps if len(step) > 1]
    if steps:
        step = rng.choice(steps)
        key = rng.choice([*step])
        values: list[Any] = [None, "", 5, -1, 1.5, "ab", "Other", True, [], {}, {"Regex": 5}, {"Other": "a"}]
        faults += [lambda: step.pop(key)] * 3 + [lambda: step.update({key: rng.choice(values)})] * 6
    rng.choice(faults)()
    return made


def _faults_of_bpe(rng: random.Random, model: Json) -> list[Callable[[], object]]:
    """Return functions that damage a BPE model, one each."""
    merges = model["merges"]
    faults: list[Callable[[], object]] = [
        lambda: model.update({rng.choice(["fuse_unk", "byte_fallback", "ignore_merges"]): rng.choice([1, "yes"])}),
        lambda: model.update(
            {rng.choice(["unk_token", "end_of_word_suffix", "continuing_subword_prefix"]): rng.choice([1, ["a"]])}
        ),
        lambda: model.update({"dropout": rng.choice([-0.5, 1.5, "0.1"])}),
        lambda: merges.insert(rng.randint(0, len(merges)), rng.choice([["a"], ["a", "b", "c"], "a", "ab", 5])),
        lambda: merges.append(["absent", "tokens"]),
        lambda: model["vocab"].update({rng.choice(["new", "other"]): rng.choice([-1, 1.5, "1", 1 << 32, None])}),
        lambda: model.pop(rng.choice(["vocab", "merges"])),
    ]
    if merges:
        faults += [lambda: model["vocab"].pop(_right_of(rng.choice(merges)), None)] * 3
    return faults


def _faults_of_others(rng: random.Random, model: Json) -> list[Callable[[], object]]:
    """Return functions that damage a Unigram, WordPiece or WordLevel model, one each."""
    vocab = model["vocab"]
    values: list[Any] = [None, "", 5, -1, 1.5, "ab", True, [], {}, ["a"], 1 << 40]
    options = [key for key in model if key not in ("type", "vocab")]
    faults: list[Callable[[], object]] = [
        lambda: model.update({rng.choice(options): rng.choice(values)}),
        lambda: model.pop(rng.choice([*options, "vocab"])),
    ]
    if isinstance(vocab, dict):
        faults += [lambda: vocab.update({rng.choice([*vocab]): rng.choice([-1, 1.5, "1", 1 << 32, None])})]
        # Never the id of another token: tokenizers decodes such an id as either of the two, at random.
        faults += [lambda: vocab.update({rng.choice([*vocab]): len(vocab) + rng.randrange(3)})]
    else:
        entry: list[Any] = [["a"], ["a", "b"], [1, 2.0], ["a", 1, 2], "a", None, ["\0", -1], ["", -1.0]]
        faults += [lambda: vocab.insert(rng.randint(0, len(vocab)), rng.choice(entry)), vocab.clear]
    return faults


def _right_of(merge: Any) -> str:
    return str(merge.split(" ")[-1] if isinstance(merge, str) else merge[-1])


# Texts


def random_texts(rng: random.Random, made: Json, n: int = 30) -> list[str]:
    """Return texts of all scripts, controls, added tokens and tokens of the file; one is empty, one is a run."""
    names = [token["content"] for token in made["added_tokens"]]
    vocab = ids_of(made["model"])
    tokens = rng.sample([*vocab], min(20, len(vocab)))
    pools: list[Sequence[str]] = [LETTERS, LETTERS, [*names, *CONTENTS], [*names, " ", "a"], tokens or [""]]
    pools += [
        ["\0", "\t", "\r\n", "\x7f", "\ufeff", "\u200d", "\ufffd"],
        ["ab", "abc ", "a b", "  ", "'s", "12", "3"],
    ]
    hard = hard_texts(rng.randrange(1 << 30))
    texts = ["", rng.choice([*LETTERS, *names, "ab"]) * rng.choice([2, 30, 300])]
    while len(texts) < n:
        if coin(rng, 0.15):
            texts.append(next(hard)[: rng.choice([5, 40, 200])])
            continue
        parts = []
        for _ in range(rng.choice([1, 1, 2, 4, 9, 20])):
            if coin(rng, 0.2):
                low, high = rng.choice(SCRIPTS)
                parts += [chr(rng.randint(low, high)) for _ in range(rng.choice([1, 2, 7]))]
            else:
                parts.append(rng.choice(rng.choice(pools)))
        texts.append("".join(parts))
    return texts
