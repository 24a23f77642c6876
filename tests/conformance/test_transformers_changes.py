"""Accelerated tokenizers that are changed, copied or shared answer like stock tokenizers with the same changes."""

from __future__ import annotations

import copy
import gc
import multiprocessing
import operator
import pickle
import random
import threading
import types
import weakref
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors

from fastbpe.transformers import accelerate, status
from fastbpe.transformers.engine import engine_of
from helpers.sampling import SEED, rounds
from helpers.transformers_grid import TEXTS, answer, difference, make

Call = Any


def encoded(tokenizer: Any) -> Any:
    texts = [*TEXTS, "new1 <new> b <think> x"]
    return (
        tokenizer(texts, return_offsets_mapping=True, return_special_tokens_mask=True),
        tokenizer(texts, texts[::-1], return_token_type_ids=True),
        tokenizer.batch_decode(tokenizer(texts)["input_ids"], skip_special_tokens=True),
        tokenizer.decode(tokenizer(texts[3])["input_ids"]),
        len(tokenizer),
    )


def set_part(name: str, make_part: Any) -> Call:
    def change(tokenizer: Any) -> None:
        setattr(tokenizer.backend_tokenizer, name, make_part())

    return change


def mutate_in_place(tokenizer: Any) -> None:
    part = tokenizer.backend_tokenizer.pre_tokenizer
    if isinstance(part, (pre_tokenizers.ByteLevel, pre_tokenizers.Metaspace)):
        if isinstance(part, pre_tokenizers.ByteLevel):
            part.add_prefix_space = not part.add_prefix_space
        else:
            part.prepend_scheme = "never"


def drop_some(tokenizer: Any) -> None:
    tokenizer._tokenizer.model.dropout = 0.0 if tokenizer._tokenizer.model.dropout is None else None


def replace_backend(tokenizer: Any) -> None:
    other = tokenizers.Tokenizer.from_str(tokenizer._tokenizer.to_str())
    other.add_tokens(["another"])
    tokenizer._tokenizer = other


def template() -> Any:
    return processors.TemplateProcessing(
        single="<a> $A <b>", pair="<a> $A <b> $B:1", special_tokens=[("<a>", 5), ("<b>", 6)]
    )


CHANGES: dict[str, Call] = {
    "add tokens": lambda t: t.add_tokens(["new1", "<new>"]),
    "add special tokens": lambda t: t.add_special_tokens({"additional_special_tokens": ["<sp1>", "b"]}),
    "add with flags": lambda t: t.add_tokens([AddedToken("x", lstrip=True, rstrip=True, normalized=False)]),
    "change flags": lambda t: t._tokenizer.add_special_tokens([AddedToken("new1", single_word=True)]),
    "add to backend": lambda t: t.backend_tokenizer.add_tokens(["two  "]),
    "template": set_part("post_processor", template),
    "no post-processor": set_part("post_processor", lambda: processors.ByteLevel(trim_offsets=True)),
    "lower": set_part("normalizer", normalizers.Lowercase),
    "nfd": set_part("normalizer", normalizers.NFD),
    "no normalizer": set_part("normalizer", lambda: None),
    "pre-tokenizer": set_part("pre_tokenizer", lambda: pre_tokenizers.ByteLevel(add_prefix_space=False)),
    "no pre-tokenizer": set_part("pre_tokenizer", lambda: None),
    "whitespace": set_part("pre_tokenizer", pre_tokenizers.Whitespace),
    "decoder": set_part("decoder", decoders.ByteLevel),
    "no decoder": set_part("decoder", lambda: None),
    "in place": mutate_in_place,
    "dropout": drop_some,
    "ignore merges": lambda t: setattr(t._tokenizer.model, "ignore_merges", not t._tokenizer.model.ignore_merges),
    "split special": lambda t: setattr(t, "split_special_tokens", not t.split_special_tokens),
    "truncate": lambda t: t._tokenizer.enable_truncation(5),
    "pad": lambda t: t._tokenizer.enable_padding(length=9),
    "sides": lambda t: (setattr(t, "padding_side", "left"), setattr(t, "truncation_side", "left")),
    "add bos": lambda t: (setattr(t, "bos_token", t.convert_ids_to_tokens(1)), setattr(t, "add_bos_token", True)),
    "backend": replace_backend,
    "no backend": lambda t: setattr(t, "_tokenizer", None),
    "length": lambda t: setattr(t, "model_max_length", 4),
    "inputs": lambda t: setattr(t, "model_input_names", ["input_ids", "token_type_ids"]),
    "clean up": lambda t: setattr(t, "clean_up_tokenization_spaces", True),
}


@pytest.mark.daily
@pytest.mark.parametrize("name", ["small_bytes", "small_llama", "phi2", "phi3", "mistral"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.sample(8)
def test_answers_equal_the_stock_tokenizer_after_a_change(name: str, change: str) -> None:
    ours, stock = accelerate(make(name)), make(name)
    assert not difference(answer(encoded, ours), answer(encoded, stock))
    answer(CHANGES[change], ours)
    answer(CHANGES[change], stock)
    assert not difference(answer(encoded, ours), answer(encoded, stock), change)


@pytest.mark.parametrize("name", ["small_bytes", "small_llama"])
@pytest.mark.parametrize("seed", rounds(2, 300))
def test_answers_equal_the_stock_tokenizer_after_random_changes(name: str, seed: int) -> None:
    rng = random.Random(f"{SEED} {name} {seed}")
    ours, stock = accelerate(make(name)), make(name)
    done: list[str] = []
    for _ in range(8):
        change = rng.choice([*(name for name in CHANGES if name != "no backend"), "deepcopy", "pickle"])
        done.append(change)
        if change in CHANGES:
            assert not difference(answer(CHANGES[change], ours), answer(CHANGES[change], stock), str(done))
        elif change == "deepcopy":
            ours, stock = copy.deepcopy(ours), copy.deepcopy(stock)
        else:
            ours, stock = pickle.loads(pickle.dumps(ours)), pickle.loads(pickle.dumps(stock))
        assert not difference(answer(encoded, ours), answer(encoded, stock), str(done))


@pytest.mark.parametrize("name", ["small_bytes", "small_llama"])
def test_token_added_again_without_normalized_is_decoded_to_its_old_form(name: str) -> None:
    ours, stock = accelerate(make(name)), make(name)
    for change in ("add tokens", "change flags", "no normalizer"):
        for tokenizer in (ours, stock):
            CHANGES[change](tokenizer)
        assert not difference(encoded(ours), encoded(stock), change)


def test_added_tokens_are_encoded_without_handing_over() -> None:
    ours = accelerate(make("small_bytes"))
    for token in ("one", "two"):
        ours.add_tokens([token])
        assert ours.tokenize(f"a{token}") == ["a", token]
    assert not status(ours)["handed_over"]


def test_unsupported_change_hands_over_until_it_is_undone() -> None:
    ours = accelerate(make("small_bytes"))
    kept = ours.backend_tokenizer.normalizer
    ours.backend_tokenizer.normalizer = normalizers.Replace(Regex(r"(?i:ß)"), "s")
    ours("a")
    assert status(ours)["reason"]
    assert sum(status(ours)["handed_over"]["encode"].values()) == 1
    ours.backend_tokenizer.normalizer = kept
    ours("a")
    assert status(ours)["reason"] is None
    assert status(ours)["native"] == {"encode": 1}


def test_use_does_not_change_the_pickle() -> None:
    ours = accelerate(make("small_bytes"))
    before = pickle.dumps(ours)
    encoded(ours)
    ours("a")
    stock = make("small_bytes")
    encoded(stock)
    stock("a")
    assert (pickle.dumps(ours) == before) == (pickle.dumps(stock) == pickle.dumps(make("small_bytes")))
    loaded = pickle.loads(before)
    assert status(loaded)["accelerated"]
    assert not difference(encoded(loaded), encoded(make("small_bytes")))


def test_copies_do_not_share_changes() -> None:
    ours = accelerate(make("small_bytes"))
    ours("a")
    copied = copy.deepcopy(ours)
    copied.add_tokens(["zzzz"])
    assert "zzzz" in copied.tokenize("zzzz")
    assert "zzzz" not in ours.tokenize("zzzz")
    assert status(copied)["accelerated"]


def test_later_calls_do_not_change_earlier_encodings() -> None:
    both = accelerate(make("small_bytes")), make("small_bytes")
    kept = []
    for tokenizer in both:
        made = tokenizer(TEXTS, padding=True, truncation=True, max_length=9)
        tokenizer.add_tokens(["Hello", "x"])
        tokenizer.backend_tokenizer.normalizer = normalizers.Lowercase()
        tokenizer(TEXTS)
        kept.append(made)
    assert not difference(*kept)


LATER: dict[str, Call] = {
    "dropout": lambda t: setattr(t._tokenizer.model, "dropout", 0.9),
    "suffix": lambda t: setattr(t._tokenizer.model, "end_of_word_suffix", "l"),
    "prefix": lambda t: setattr(
        t._tokenizer.model, "continuing_subword_prefix", "##"
    ),  # rebuilding merges needs it
    "training": lambda t: t._tokenizer.train_from_iterator(["zz zz yy yy x"] * 9),
}


@pytest.mark.parametrize("change", LATER)
@pytest.mark.parametrize("is_read", [False, True])
def test_changes_of_the_model_do_not_change_earlier_encodings(change: str, is_read: bool) -> None:
    kept = []
    for tokenizer in (accelerate(make("small_bytes")), make("small_bytes")):
        before, made = (tokenizer(TEXTS) for _ in range(2))
        if is_read:  # then a copy exists before the change
            assert before.encodings
        LATER[change](tokenizer)
        kept.append(made)
    assert not difference(*kept)


def test_words_that_a_program_changes_later_do_not_change_encodings() -> None:
    kept = []
    for tokenizer in (accelerate(make("small_bytes")), make("small_bytes")):
        rows = [["Hello", "world"], ["a", "b"]]
        pairs = [(row, [*row]) for row in rows]
        made = tokenizer(rows, is_split_into_words=True), tokenizer(pairs, is_split_into_words=True)
        rows[0][0] = pairs[1][1][0] = "changed"
        rows[1].append("more")
        kept.append(made)
    for ours, stock in zip(*kept, strict=True):
        assert not difference(ours, stock)


def test_saved_files_equal_the_files_of_the_stock_tokenizer(tmp_path: Path) -> None:
    ours, stock = accelerate(make("small_bytes")), make("small_bytes")
    for name, tokenizer in (("ours", ours), ("stock", stock)):
        tokenizer("a", truncation=True, max_length=5)
        tokenizer.save_pretrained(tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "stock").iterdir())
    assert sorted(path.name for path in (tmp_path / "ours").iterdir()) == files
    for file in files:
        assert (tmp_path / "ours" / file).read_bytes() == (tmp_path / "stock" / file).read_bytes()
    loaded = type(ours).from_pretrained(tmp_path / "ours")
    assert status(loaded)["accelerated"]
    assert not difference(encoded(loaded), encoded(type(stock).from_pretrained(tmp_path / "stock")))


def test_train_new_from_iterator_gives_the_same_tokenizer() -> None:
    ours, stock = accelerate(make("small_bytes")), make("small_bytes")
    made = [t.train_new_from_iterator([["some text some"] * 9], 300) for t in (ours, stock)]
    assert made[0]._tokenizer.to_str() == made[1]._tokenizer.to_str()
    assert not difference(encoded(made[0]), encoded(made[1]))


def test_threads_may_share_a_tokenizer() -> None:
    ours, stock = accelerate(make("small_bytes")), make("small_bytes")
    expected = [stock([text] * 9)["input_ids"] for text in TEXTS]
    failed: list[Any] = []

    def work(i: int) -> None:
        for _ in range(50):
            if ours([TEXTS[i]] * 9)["input_ids"] != expected[i]:
                failed.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(TEXTS))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


@pytest.mark.daily
@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore")
def test_worker_processes_give_the_same_ids(method: str) -> None:
    ours = accelerate(make("small_bytes"))
    ids = ours.encode(TEXTS[0])
    with multiprocessing.get_context(method).Pool(1) as pool:
        found = pool.map_async(operator.methodcaller("encode", TEXTS[0]), [ours, ours])
        assert found.get(timeout=300) == [ids, ids]


def test_change_that_is_undone_between_plain_calls_is_noticed() -> None:
    ours, stock = accelerate(make("small_bytes")), make("small_bytes")
    first = stock.backend_tokenizer.post_processor
    second = processors.TemplateProcessing(single="</s> $A", special_tokens=[("</s>", 1)])
    for post_processor, options in [(first, {}), (second, {"padding": True}), (first, {}), (second, {})]:
        for tokenizer in (ours, stock):
            tokenizer.backend_tokenizer.post_processor = post_processor
        for normalizer in (None, normalizers.Lowercase(), None):
            for tokenizer in (ours, stock):
                tokenizer.backend_tokenizer.normalizer = normalizer
            call = lambda t, o=options: t("The Text", **o)  # noqa: E731
            assert not difference(answer(call, ours), answer(call, stock))
            options = {} if options else {"return_offsets_mapping": True}
    assert not status(ours)["handed_over"]


IN_PLACE: dict[str, tuple[str, Any, Call]] = {
    "prefix space": (
        "pre_tokenizer",
        lambda: pre_tokenizers.ByteLevel(add_prefix_space=False),
        lambda part: setattr(part, "add_prefix_space", True),
    ),
    "item of a sequence": (
        "pre_tokenizer",
        lambda: pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        ),
        lambda part: setattr(part[0], "individual_digits", True),
    ),
    "place in a sequence": (
        "pre_tokenizer",
        lambda: pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        ),
        lambda part: part.__setitem__(0, pre_tokenizers.Digits(individual_digits=True)),
    ),
    "state": (
        "normalizer",
        lambda: normalizers.Prepend("x"),
        lambda part: part.__setstate__(normalizers.Prepend("yy").__getstate__()),
    ),
    "prepended": ("normalizer", lambda: normalizers.Prepend("x"), lambda part: setattr(part, "prepend", "yy")),
    "template": ("post_processor", template, lambda part: setattr(part, "single", "$A <b>")),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_change_in_place_between_plain_calls_is_noticed(name: str) -> None:
    kind, make_part, change = IN_PLACE[name]
    ours, stock = accelerate(make("small_bytes")), make("small_bytes")
    for tokenizer in (ours, stock):
        setattr(tokenizer.backend_tokenizer, kind, make_part())
    calls: tuple[Call, ...] = (lambda t: t("The 12 Texts"), lambda t: t.encode("The 12 Texts"))
    parts = [getattr(tokenizer.backend_tokenizer, kind) for tokenizer in (ours, stock)]
    for changed in (False, True):
        for part in parts:
            if changed:
                answer(change, part)
        for call in (*calls, *calls):
            assert not difference(answer(call, ours), answer(call, stock))
    assert status(ours)["native"]


def test_every_setter_of_components_is_watched() -> None:
    ours = accelerate(make("small_bytes"))
    ours("a")
    unwatched = [
        f"{cls.__name__}.{name}"
        for module in (decoders, models, normalizers, pre_tokenizers, processors)
        for cls in vars(module).values()
        if isinstance(cls, type)
        for name, value in vars(cls).items()
        if isinstance(value, types.GetSetDescriptorType) and not name.startswith("__")
    ]
    assert not unwatched


def pair_of(backend: Any, **options: Any) -> tuple[Any, Any]:
    """Return an accelerated tokenizer of a backend, and a stock one."""
    from transformers import PreTrainedTokenizerFast

    text = backend.to_str()
    ours, stock = (
        PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer.from_str(text), **options) for _ in range(2)
    )
    return accelerate(ours), stock


@pytest.mark.filterwarnings("ignore::fastbpe.FormatWarning")  # as an error, it would hand the calls over
def test_vocabulary_with_gaps_keeps_the_ids_of_added_tokens() -> None:
    backend = tokenizers.Tokenizer(models.BPE({"a": 0, "b": 1, "x": 9, "y": 8}, []))
    backend.add_tokens(["x"])
    ours, stock = pair_of(backend, pad_token="[PAD]", sep_token=AddedToken("<m>", lstrip=True))
    for change in ((), ["<new>"], ["y", "<newer>"]):
        for one in (ours, stock):
            one.add_tokens([*change])
        for text in ("ab[PAD]x", " <m>a<new>", "y<newer>"):
            assert ours(text)["input_ids"] == stock(text)["input_ids"]
            ids = stock(text)["input_ids"]
            assert ours.decode(ids, skip_special_tokens=True) == stock.decode(ids, skip_special_tokens=True)


def test_model_without_the_token_of_a_probe_is_asked_only_for_texts() -> None:
    backend = tokenizers.Tokenizer(models.BPE({"b": 0, "[S]": 1}, [], unk_token="absent"))
    backend.post_processor = processors.TemplateProcessing("[S] $A", "$A [S] $B:1", [("[S]", 1)])
    ours, stock = pair_of(backend)
    calls: list[Call] = [
        lambda t: t("bb", return_offsets_mapping=True),
        lambda t: t("b", "b"),
        lambda t: t([""]),
        lambda t: t.tokenize("b"),
    ]
    for call in calls:
        assert not difference(answer(call, ours), stock_answer := answer(call, stock))
        assert not isinstance(stock_answer, Exception)
    assert isinstance(answer(lambda t: t("a"), ours), Exception)
    assert status(ours)["native"]["encode"] >= len(calls)


def test_decoder_that_panics_without_tokens_does_not_when_spaces_are_cleaned_up() -> None:
    backend = tokenizers.Tokenizer(models.BPE({"a": 0, "b": 1}, []))
    backend.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 0, 1)])
    ours, stock = pair_of(backend, clean_up_tokenization_spaces=True)
    assert ours.decode([0, 1]) == stock.decode([0, 1]) == "ab"
    assert ours.batch_decode([[0], [1]]) == stock.batch_decode([[0], [1]])


def test_tables_before_a_change_are_freed() -> None:
    tokenizer = accelerate(make("small_bytes"))
    for options in ({}, {"truncation": True, "max_length": 9}, {"return_offsets_mapping": True}):
        tokenizer("a b", **options)
    before = weakref.ref(engine_of(tokenizer).ready())
    tokenizer.add_tokens(["<new>"])
    tokenizer("a b")
    gc.collect()
    assert before() is None
