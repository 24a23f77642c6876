"""Unigram, WordPiece and WordLevel of fastbpe.tokenizers and their trainers against tokenizers."""

from __future__ import annotations

import copy
import json
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tokenizers")

import tokenizers as stock

import fastbpe.tokenizers as face
from fastbpe.errors import FormatError, TrainingError
from helpers.sampling import SEED, rounds
from helpers.shared_data import corpus
from helpers.tokenizer_json import random_text
from helpers.tokenizers_twins import Twins, outcome

KINDS = ("Unigram", "WordPiece", "WordLevel")
SCORES = [
    ("a", -1.5),
    ("b", -1e-7),
    ("c", 0.1),
    ("d", 1e20),
    ("e", -0.0),
    ("f", 2),
    ("<unk>", -1e-5),
    ("a", -1e-12),
]
BYTES = [("a", -1.0), *((f"<0x{byte:02X}>", -2.0) for byte in range(0x80, 0xE8))]
VOCAB = {"b": 5, "a": 2, "##b": 3, "[UNK]": 0, "\u00e9": 1}
#: Calls that make something, of each class.
MAKERS: dict[str, list[Callable[[Any], Any]]] = {
    "Unigram": [
        lambda m: m.models.Unigram(),
        lambda m: m.models.Unigram(SCORES, 6),
        lambda m: m.models.Unigram(SCORES),
        lambda m: m.models.Unigram(BYTES, 0, True),
        lambda m: m.models.Unigram(BYTES, None, byte_fallback=True),
        lambda m: m.models.Unigram([("a" * i, -i / 3) for i in range(120)], 0),
        lambda m: m.models.Unigram(unk_id=0),
        lambda m: m.models.Unigram([]),
        lambda m: m.models.Unigram([], 0),
        lambda m: m.models.Unigram([("a", 1)], 1),
        lambda m: m.models.Unigram([("a", 1)], -1),
        lambda m: m.models.Unigram([["a", 1]], 0),
        lambda m: m.models.Unigram([("a", "1")], 0),
        lambda m: m.models.Unigram([("a", 1, 2)], 0),
        lambda m: m.models.Unigram([(1, 1)], 0),
        lambda m: m.models.Unigram({"a": 1}, 0),
        lambda m: m.models.Unigram([("a", 1)], 0, 1),
        lambda m: m.models.Unigram([("a", 1)], 0, alpha="x"),
        lambda m: m.models.Unigram([("a", 1)], 0, nbest_size=-1),
        lambda m: m.models.Unigram(unk_token="a"),
    ],
    "WordPiece": [
        lambda m: m.models.WordPiece(),
        lambda m: m.models.WordPiece(VOCAB),
        lambda m: m.models.WordPiece(VOCAB, unk_token="b", max_input_chars_per_word=3),
        lambda m: m.models.WordPiece(VOCAB, continuing_subword_prefix=""),
        lambda m: m.models.WordPiece({"a": 0}),
        lambda m: m.models.WordPiece({"b" * i: i for i in range(1, 9)}),
        lambda m: m.models.WordPiece("no such file"),
        lambda m: m.models.WordPiece.from_file("no such file"),
        lambda m: m.models.WordPiece.read_file("no such file"),
        lambda m: m.models.WordPiece(VOCAB, "[UNK]"),
        lambda m: m.models.WordPiece(VOCAB, unk_token=None),
        lambda m: m.models.WordPiece(VOCAB, max_input_chars_per_word=-1),
        lambda m: m.models.WordPiece({"a": -1}),
        lambda m: m.models.WordPiece([]),
    ],
    "WordLevel": [
        lambda m: m.models.WordLevel(),
        lambda m: m.models.WordLevel(VOCAB),
        lambda m: m.models.WordLevel(VOCAB, "[UNK]"),
        lambda m: m.models.WordLevel(VOCAB, unk_token="a"),
        lambda m: m.models.WordLevel(None, "a"),
        lambda m: m.models.WordLevel("no such file"),
        lambda m: m.models.WordLevel.from_file("no such file"),
        lambda m: m.models.WordLevel.read_file("no such file"),
        lambda m: m.models.WordLevel({"a": 1 << 32}),
        lambda m: m.models.WordLevel({"a": "b"}),
        lambda m: m.models.WordLevel({1: 1}),
        lambda m: m.models.WordLevel({"a": 1}, unk_token=3),
        lambda m: m.models.WordLevel({"a": 1}, x=3),
    ],
}
TRAINERS: list[Callable[[Any], Any]] = [
    lambda m: m.UnigramTrainer(),
    lambda m: m.UnigramTrainer(special_tokens=["a", "b"], unk_token="a", initial_alphabet=["xyz", ""]),
    lambda m: m.UnigramTrainer(shrinking_factor=0.9, max_piece_length=3, n_sub_iterations=1, seed_size=5),
    lambda m: m.UnigramTrainer(3),
    lambda m: m.UnigramTrainer(vocab_size=-1),
    lambda m: m.UnigramTrainer(vocab_size="a"),
    lambda m: m.UnigramTrainer(shrinking_factor="a"),
    lambda m: m.UnigramTrainer(initial_alphabet="ab"),
    lambda m: m.UnigramTrainer(special_tokens="ab"),
    lambda m: m.UnigramTrainer(special_tokens=[1]),
    lambda m: m.UnigramTrainer(unk_token=1),
    lambda m: m.WordPieceTrainer(),
    lambda m: m.WordPieceTrainer(vocab_size=3, special_tokens=["a"], limit_alphabet=3, end_of_word_suffix="a"),
    lambda m: m.WordPieceTrainer(continuing_subword_prefix="", initial_alphabet=["xy"], min_frequency=2),
    lambda m: m.WordPieceTrainer(3),
    lambda m: m.WordPieceTrainer(special_tokens=("a",)),
    lambda m: m.WordLevelTrainer(),
    lambda m: m.WordLevelTrainer(special_tokens=["a"], min_frequency=2, vocab_size=4, show_progress=False),
    lambda m: m.WordLevelTrainer(3),
    lambda m: m.WordLevelTrainer(special_tokens=("a",)),
]


def is_panic(value: Any) -> bool:
    return isinstance(value, type) and value.__name__ == "PanicException"


def check(make: Callable[[Any], Any], calls: list[Callable[[Any], Any]], modules: Any = (face, stock)) -> None:
    """Make something of both, and compare the results of calls; or the types of the errors."""
    ours, theirs = (outcome(lambda m=m: make(m)) for m in modules)
    if is_panic(theirs):
        return
    assert isinstance(ours, type) == isinstance(theirs, type), (ours, theirs)
    if isinstance(theirs, type):
        assert issubclass(ours, theirs), (ours, theirs)
        return
    twins = Twins(ours, theirs)
    for number, call in enumerate(calls):
        twins.check(call, number)


def tokens_of(model: Any, text: str) -> list[Any]:
    return [token.as_tuple() for token in model.tokenize(text)]


@pytest.mark.parametrize("kind", KINDS)
def test_models_are_made_and_shown_like_the_original(kind: str, tmp_path: Path) -> None:
    def saved(model: Any, *prefix: str) -> list[Any]:
        paths = [Path(path) for path in model.save(str(tmp_path), *prefix)]
        return [[path.name, path.read_text()] for path in paths]

    calls: list[Callable[[Any], Any]] = [
        lambda t: [repr(t), str(t), t.__getstate__()],
        lambda t: [pickle.loads(pickle.dumps(t)).__getstate__(), copy.deepcopy(t).__getstate__()],
        lambda t: [saved(t), saved(t, "x")],
        lambda t: t.save("no such folder"),
        lambda t: [t.token_to_id(token) for token in ("a", "b", "none")],
        lambda t: [t.id_to_token(i) for i in range(10)],
        lambda t: t.id_to_token(-1),
        lambda t: t.token_to_id(3),
        lambda t: repr(t.get_trainer()),
        lambda t: [t._clear_cache(), t._resize_cache(3)],
        *(lambda t, s=text: tokens_of(t, s) for text in ("a", "ab", "abxy\u00e9a", "", "\u00e9\u00e8a", "aaaa")),
        *(lambda t, name=name: getattr(t, name) for name in ("unk_token", "max_input_chars_per_word", "alpha")),
        lambda t: [t.unk_token, setattr(t, "unk_token", "a"), t.__getstate__(), *tokens_of(t, "xx")],
        lambda t: [t.unk_token, setattr(t, "unk_token", 5)],
    ]
    for make in MAKERS[kind]:
        check(make, calls)


def test_trainers_are_made_and_shown_like_the_original() -> None:
    calls: list[Callable[[Any], Any]] = [
        lambda t: [repr(t), str(t), t.__getstate__(), pickle.loads(pickle.dumps(t)).__getstate__()],
        lambda t: [str(one) for one in t.special_tokens],
        lambda t: [t.vocab_size, t.show_progress],
        lambda t: t.initial_alphabet,
        lambda t: [t.min_frequency],
        lambda t: [t.continuing_subword_prefix, t.end_of_word_suffix, t.limit_alphabet],
        lambda t: setattr(t, "vocab_size", 7) or t.__getstate__(),
        lambda t: setattr(t, "vocab_size", "a"),
        lambda t: setattr(t, "special_tokens", ["q"]) or t.__getstate__(),
        lambda t: [t.end_of_word_suffix, setattr(t, "end_of_word_suffix", "x"), repr(t)],
    ]
    for make in TRAINERS:
        check(make, calls, (face.trainers, stock.trainers))


def test_small_numbers_are_written_as_in_the_original() -> None:
    scores = [-1.5 * 10.0**power for power in range(-30, 30)] + [-(10.0**power) for power in range(-12, 20)]
    vocab = [('"1e-05, 1e-07"\\', 0.0), *((f"{score}", score) for score in scores)]
    made = [module.Tokenizer(module.models.Unigram(vocab, 0)) for module in (face, stock)]
    twins = Twins(*made)
    twins.check(lambda t: [t.to_str(), t.to_str(pretty=True), repr(t), t.model.__getstate__()])
    twins.check(lambda t: type(t).from_str(t.to_str()).to_str())
    for dropout in (1.0, 1e-4, 9.99e-6, 1e-6, 9.99e-7, 1e-8):
        made = [module.Tokenizer(module.models.BPE(dropout=dropout)) for module in (face, stock)]
        Twins(*made).check(lambda t: [t.to_str(), t.to_str(pretty=True), repr(t), t.model.__getstate__()])


def test_random_cuts_of_unigram_need_the_original() -> None:
    model = face.models.Unigram([("a", -1.0), ("aa", -1.0)], 0)
    tokenizer = face.Tokenizer(model)
    assert tokenizer.encode("aa").tokens == ["aa"]
    assert [token.value for token in model.tokenize("aa")] == ["aa"]
    model.alpha = 0.1
    assert model.alpha == 0.1
    for call in (tokenizer.encode, model.tokenize):
        with pytest.raises(ImportError, match=r"random segmentations of a Unigram model \(set alpha to None\)"):
            call("aa")
    model.alpha = None
    assert tokenizer.encode("aa").tokens == ["aa"]
    of_theirs = face.Tokenizer(stock.models.Unigram([("a", -1.0)], 0, alpha=0.5, nbest_size=3)).model
    assert (of_theirs.alpha, of_theirs.nbest_size) == (0.5, 3)


@pytest.mark.parametrize("options", [{"nbest_size": 2}, {"alpha": 0.0}, {"alpha": 0.0, "nbest_size": 2}])
def test_unigram_with_these_options_cuts_as_without_them(options: dict[str, Any]) -> None:
    def cuts(module: Any) -> Any:
        vocab = [("a", -1.0), ("aa", -1.1), ("b", -1.0), ("aab", -1.9)]
        tokenizer = module.Tokenizer(module.models.Unigram(vocab, 0, **options))
        return [(tokenizer.encode("aabaa").tokens, tokenizer.model.tokenize("aabaa")[0].value) for _ in range(30)]

    assert cuts(face) == cuts(stock)


def test_equal_tokens_of_a_unigram_count_in_its_size() -> None:
    calls: list[Callable[[Any], Any]] = [
        lambda t: [t.get_vocab_size(), t.get_vocab_size(False), t.get_vocab()],
        lambda t: [t.add_tokens(["a", "new"]), t.token_to_id("new"), t.get_vocab_size(), t.get_vocab_size(False)],
        lambda t: t.to_str(),
    ]
    check(lambda m: m.Tokenizer(m.models.Unigram([("b", -1.0), ("a", -2.0), ("a", -3.0)], 0)), calls)


@pytest.mark.parametrize("kind", ["BPE", "WordPiece", "WordLevel"])
def test_tokens_with_the_same_id_are_refused_when_a_text_needs_them(kind: str) -> None:
    """tokenizers decodes such an id as either of its tokens, at random."""
    vocab = {"[UNK]": 0, "a": 1, "b": 1}
    model = face.models.BPE(vocab, []) if kind == "BPE" else getattr(face.models, kind)(vocab, unk_token="[UNK]")
    tokenizer = face.Tokenizer(model)
    assert tokenizer.get_vocab() == vocab
    assert tokenizer.get_vocab_size() == 3
    with pytest.raises(FormatError, match="'a' and 'b' have the same id 1"):
        tokenizer.encode("a")
    with pytest.raises(FormatError, match="'a' and 'b' have the same id 1"):
        model.tokenize("a")


def test_unknown_token_of_a_unigram_that_stands_for_a_byte_keeps_its_name() -> None:
    calls: list[Callable[[Any], Any]] = [lambda t, s=text: tokens_of(t, s) for text in ("1", "12", "a1", "\u00e9")]
    check(lambda m: m.models.Unigram([("<0x31>", -1.0), ("a", -2.0)], 0, True), calls)


def random_model(rng: random.Random, kind: str) -> Callable[[Any], Any]:
    found = {
        "".join(rng.choices("ab c\u2581\u00e9A\u6f22.", k=rng.randint(1, 3))): None
        for _ in range(rng.randint(3, 25))
    }
    tokens = [*found]
    if kind == "Unigram":
        unknown, falls_back = rng.choice([None, 0, 1]), rng.random() < 0.3
        if falls_back:
            tokens += [f"<0x{byte:02X}>" for byte in range(256) if rng.random() < 0.98]
        scores = [(token, -rng.choice([1.0, 2.5, 9 * rng.random()])) for token in tokens]
        return lambda m: m.models.Unigram(scores, unknown, falls_back)
    vocab = {token: i for i, token in enumerate(tokens)}
    options: dict[str, Any] = {"unk_token": rng.choice(["[UNK]", tokens[0]])}
    if kind == "WordPiece":
        options |= {"continuing_subword_prefix": rng.choice(["##", "a", ""])}
        options |= {"max_input_chars_per_word": rng.choice([100, 3, 1])}
    return lambda m: getattr(m.models, kind)(vocab, **options)


def random_parts(rng: random.Random) -> Callable[[Any, Any], None]:
    """Return a function that puts random components, tokens and settings into a tokenizer."""
    form = rng.choice([None, "Lowercase", "NFKC", "NFD", "StripAccents"])
    cut = rng.choice([None, "Whitespace", "Metaspace", "WhitespaceSplit", "ByteLevel", "BertPreTokenizer"])
    decoder = rng.choice([None, "Metaspace", "WordPiece", "ByteFallback"])
    special = rng.choice([[], ["<s>"], ["a"], ["<s>", "ab"]])
    flags = {flag: rng.random() < 0.3 for flag in ("lstrip", "rstrip", "normalized", "single_word")}
    is_framed, is_padded, limit = rng.random() < 0.3, rng.random() < 0.2, rng.choice([None, None, 3])

    def put(module: Any, tokenizer: Any) -> None:
        tokenizer.normalizer = None if form is None else getattr(module.normalizers, form)()
        tokenizer.pre_tokenizer = None if cut is None else getattr(module.pre_tokenizers, cut)()
        tokenizer.decoder = None if decoder is None else getattr(module.decoders, decoder)()
        tokenizer.add_special_tokens([module.AddedToken(one, **flags) for one in special])
        if is_framed and special:
            around = [(special[0], tokenizer.token_to_id(special[0]))]
            template = module.processors.TemplateProcessing(single=f"{special[0]} $A", special_tokens=around)
            tokenizer.post_processor = template
        if limit is not None:
            tokenizer.enable_truncation(limit, stride=1)
        if is_padded:
            tokenizer.enable_padding()

    return put


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", rounds(25, 3000))
def test_random_tokenizers_answer_like_the_original(kind: str, seed: int) -> None:
    rng = random.Random(f"{SEED} {kind} {seed}")
    model, put = random_model(rng, kind), random_parts(rng)
    texts = [
        "".join(rng.choices("ab c\u2581\u00e9A\u6f22.<s>x\U0001f600 ", k=rng.randint(0, 12))) for _ in range(4)
    ]
    texts += ["ab <s> \u00e9", "", "\ufb01 x"]

    def make(module: Any) -> Any:
        tokenizer = module.Tokenizer(model(module))
        put(module, tokenizer)
        return tokenizer

    calls: list[Callable[[Any], Any]] = [
        lambda t: [t.to_str(), repr(t), str(t), type(t).from_str(t.to_str()).to_str()],
        lambda t: pickle.loads(pickle.dumps(t)).to_str(),
        lambda t: t.encode_batch(texts),
        lambda t: [t.get_vocab(), t.get_vocab_size(False)],
        lambda t: t.encode(texts[0], texts[1]),
        lambda t: t.encode(texts[0].split(), is_pretokenized=True),
        lambda t: t.decode([*range(8)], skip_special_tokens=False),
        lambda t: [one.ids for one in t.encode_batch_fast(texts)],
        *(lambda t, s=text: t.encode(s) for text in texts),
    ]
    check(make, calls)


# Training


def trained(module: Any, kind: str, texts: list[str], steps: tuple[str | None, str | None], **options: Any) -> Any:
    form, cut = steps
    tokenizer = module.Tokenizer(getattr(module.models, kind)())
    tokenizer.normalizer = None if form is None else getattr(module.normalizers, form)()
    tokenizer.pre_tokenizer = None if cut is None else getattr(module.pre_tokenizers, cut)()
    trainer = getattr(module.trainers, f"{kind}Trainer")(show_progress=False, **options)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def random_training(rng: random.Random) -> tuple[list[str], tuple[str | None, str | None], dict[str, Any]]:
    alphabet = rng.choice(["ab c", "abcde\u00e9 \u00c0B .,", "ab##  #"])
    texts = ["".join(rng.choices(alphabet, k=rng.randint(0, 30))) for _ in range(rng.randint(0, 30))]
    steps = rng.choice([None, "Lowercase", "NFD"]), rng.choice([None, "Whitespace", "Metaspace", "ByteLevel"])
    options: dict[str, Any] = {"vocab_size": rng.choice([0, 3, 8, 20, 40])}
    options["special_tokens"] = rng.choice([[], ["<unk>"], ["<unk>", "a", "<unk>"], ["ab", "<s>"]])
    return texts, steps, options


@pytest.mark.parametrize("seed", rounds(25, 3000))
def test_word_level_learns_what_the_original_learns(seed: int) -> None:
    rng = random.Random(f"{SEED} training of WordLevel {seed}")
    texts, steps, options = random_training(rng)
    options["min_frequency"] = rng.choice([0, 1, 2, 5])
    check(
        lambda m: trained(m, "WordLevel", texts, steps, **options),
        [lambda t: t.to_str(), lambda t: t.encode_batch(texts[:5])],
    )


@pytest.mark.parametrize("seed", rounds(25, 3000))
def test_word_piece_learns_what_the_original_learns(seed: int) -> None:
    """Special tokens set the order of the characters inside words, which is random in the original."""
    rng = random.Random(f"{SEED} training of WordPiece {seed}")
    texts, steps, options = random_training(rng)
    prefix = rng.choice(["##", "##", "", "@"])
    seen = trained(stock, "WordLevel", texts, steps, vocab_size=1 << 20).get_vocab()
    spelled = sorted({f"{prefix}{one}" for word in seen for one in word})
    options |= {"special_tokens": [*options["special_tokens"], *spelled], "continuing_subword_prefix": prefix}
    options |= {"vocab_size": len(spelled) + options["vocab_size"], "min_frequency": rng.choice([0, 1, 2, 5])}
    if rng.random() < 0.3:
        options["initial_alphabet"] = ["z", "yx"]
    check(
        lambda m: trained(m, "WordPiece", texts, steps, **options),
        [lambda t: t.to_str(), lambda t: t.encode_batch(texts[:5])],
    )


@pytest.mark.parametrize("kind", KINDS)
def test_trainers_keep_the_words_of_the_texts(kind: str) -> None:
    tokenizer = face.Tokenizer(getattr(face.models, kind)())
    tokenizer.pre_tokenizer = face.pre_tokenizers.Whitespace()
    trainer = getattr(face.trainers, f"{kind}Trainer")(show_progress=False)
    tokenizer.train_from_iterator(["a b", "b c"], trainer)
    assert trainer.get_word_count() == 3
    assert pickle.loads(pickle.dumps(trainer)).get_word_count() == 3


@pytest.mark.parametrize("seed", rounds(10, 1000))
def test_unigram_learns_the_same_each_time(seed: int) -> None:
    rng = random.Random(f"{SEED} training of Unigram {seed}")
    texts, steps = [random_text(rng) for _ in range(rng.randint(0, 20))], (None, "Whitespace")
    options: dict[str, Any] = {"vocab_size": rng.choice([300, 500]), "unk_token": rng.choice([None, "<unk>"])}
    options |= {"special_tokens": rng.choice([[], ["<s>", "<unk>"]]), "shrinking_factor": rng.choice([0.5, 0.75])}
    options |= {"n_sub_iterations": rng.choice([1, 2]), "max_piece_length": rng.choice([2, 16])}
    options |= {"initial_alphabet": ["z"]}
    first, again = (trained(face, "Unigram", texts, steps, **options) for _ in range(2))
    assert first.to_str() == again.to_str()
    assert trained(face, "Unigram", texts[::-1], steps, **options).to_str() == first.to_str()
    vocab = first.get_vocab()
    assert {*"".join(texts).replace("\r", " ").split()} == set() or len(vocab) > 0
    assert {"z", *"".join("".join(texts).split())} <= vocab.keys()
    assert len(vocab) <= options["vocab_size"]
    special = [one for one in options["special_tokens"] if one != options["unk_token"]]
    assert all(first.encode(text).ids for text in texts if text.split())
    assert {*special} <= vocab.keys()


def scores_of(tokenizer: Any) -> tuple[dict[str, float], int | None]:
    """The tokens of a Unigram with their scores, and the id of the unknown token."""
    model = json.loads(tokenizer.to_str())["model"]
    return dict(model["vocab"]), model["unk_id"]


def check_learned(texts: list[str], steps: tuple[str | None, str | None], options: dict[str, Any]) -> None:
    """Compare what both trainers learn. The original gives characters without a token scores in a random order."""
    ours, theirs = (trained(module, "Unigram", texts, steps, **options) for module in (face, stock))
    (found, unk_id), (expected, their_unk_id) = scores_of(ours), scores_of(theirs)
    assert (found.keys(), unk_id) == (expected.keys(), their_unk_id), options
    assert ours.get_vocab_size() == theirs.get_vocab_size()
    most = 1e-4 * sum(len(token) == 1 for token in found)
    for token, score in found.items():
        assert abs(score - expected[token]) <= (most if len(token) == 1 else 1e-6 * abs(score)), token
    order = [token for token in found if len(token) > 1]
    ours_first = {token: (-round(found[token], 5), i) for i, token in enumerate(order)}
    assert sorted(order, key=lambda token: ours_first[token]) == sorted(
        [token for token in expected if len(token) > 1], key=lambda token: ours_first[token]
    )


@pytest.mark.parametrize("seed", rounds(25, 3000))
def test_unigram_learns_what_the_original_learns(seed: int) -> None:
    rng = random.Random(f"{SEED} training of Unigram like the original {seed}")
    alphabet = rng.choice(["ab ", "abc ", "abcde ", "a\u00e9\u4e16\U0001f642\u0416 ", "ab\u4e16\u4e17 "])
    texts = ["".join(rng.choices(alphabet, k=rng.randint(0, 30))) for _ in range(rng.randint(1, 40))]
    options: dict[str, Any] = {"vocab_size": rng.randint(12, 60), "unk_token": rng.choice([None, "<u>"])}
    options |= {
        "special_tokens": rng.choice([[], ["<s>"], ["a", "<u>"]]),
        "n_sub_iterations": rng.choice([0, 1, 2]),
    }
    options |= {"max_piece_length": rng.choice([1, 2, 3, 16]), "seed_size": rng.choice([3, 10, 1000])}
    options |= {"shrinking_factor": rng.choice([0.3, 0.75, 0.9]), "initial_alphabet": rng.choice([[], ["z"]])}
    check_learned(texts, (None, rng.choice(["WhitespaceSplit", "Metaspace"])), options)


@pytest.mark.parametrize(
    ("file", "n", "cut", "options"),
    [
        (
            "botchan.txt",
            100_000,
            "Metaspace",
            {"vocab_size": 1000, "special_tokens": ["<s>"], "unk_token": "<unk>"},
        ),
        ("multilingual.txt", 60_000, "Metaspace", {"vocab_size": 3000}),
        ("wagahaiwa_nekodearu.txt", 20_000, "Metaspace", {"vocab_size": 2500}),  # long words of many characters
        ("json_yaml.txt", 20_000, None, {"vocab_size": 500}),
        ("taylorswift.txt", 40_000, "ByteLevel", {"vocab_size": 400, "initial_alphabet": ["q"]}),
    ],
)
def test_unigram_learns_what_the_original_learns_from_real_text(
    file: str, n: int, cut: str | None, options: dict[str, Any]
) -> None:
    check_learned(corpus(file, n).split("\n"), (None, cut), options)


def test_unigram_learns_from_no_words_or_few() -> None:
    for texts in ([], [""]):
        ours, theirs = (trained(m, "Unigram", texts, (None, None)).to_str() for m in (face, stock))
        assert ours == theirs
    assert trained(face, "Unigram", [], (None, None), initial_alphabet=["z"]).get_vocab() == {"z": 0}
    # With as many tokens as characters the original never ends.
    assert trained(face, "Unigram", ["abc"], (None, None), vocab_size=3).get_vocab().keys() == {*"abc"}
    for module in (face, stock):
        with pytest.raises(Exception, match="not large enough to contain all chars") as caught:
            trained(module, "Unigram", ["abc"], (None, None), vocab_size=2)
        assert module is stock or isinstance(caught.value, TrainingError)
    odd = trained(face, "Unigram", ["a\0b \u2585x"], (None, "Whitespace"))
    assert odd.get_vocab().keys() >= {*"a\0b\u2585x"}


def test_trainers_of_the_original_are_taken() -> None:
    for kind in KINDS:
        tokenizer = face.Tokenizer(getattr(face.models, kind)())
        trainer = getattr(stock.trainers, f"{kind}Trainer")(
            vocab_size=9, special_tokens=["<s>"], show_progress=False
        )
        tokenizer.train_from_iterator(["ab ab"], trainer)
        assert tokenizer.token_to_id("<s>") == 0
    with pytest.raises(TypeError, match="ParityBpeTrainer is not a trainer for a Tokenizer"):
        face.Tokenizer(face.models.BPE()).train_from_iterator(["a"], stock.trainers.ParityBpeTrainer())


@pytest.mark.parametrize("infinite", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("place", range(4))
def test_infinite_scores_segment_and_are_written_as_null(infinite: float, place: int, tmp_path: Path) -> None:
    vocab = [
        (piece, score) for piece, score in zip(("<unk>", "a", "b", "ab"), (0.0, -2.0, -1.0, -3.5), strict=True)
    ]
    vocab[place] = vocab[place][0], infinite

    def made(module: Any) -> Any:
        tokenizer = module.Tokenizer(module.models.Unigram(vocab, 0))
        [path] = tokenizer.model.save(str(tmp_path))
        texts = tokenizer.to_str(), tokenizer.to_str(True), Path(path).read_text(encoding="utf-8")
        return texts, [tokenizer.encode(text).ids for text in ("a", "abba", "aab", "q", "aqb", "bqqab")]

    assert made(face) == made(stock)
    with pytest.raises(
        FormatError, match=rf"vocab\[{place}\]: must be \[piece, score\], not \['{vocab[place][0]}', None"
    ):
        face.Tokenizer.from_str(made(face)[0][0])
