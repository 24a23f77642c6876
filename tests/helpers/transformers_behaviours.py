"""Behaviours of tokenizers that transformers' own tests check, written anew over local tokenizers.

The list follows tests/test_tokenizers_backend_mixin.py and tests/test_tokenization_common.py of transformers 5.24,
whose tests need models of the hub. A behaviour takes a function that loads a tokenizer with options, and an empty
folder. It returns all that it saw, so that a stock tokenizer and an accelerated one can be compared; an exception
is an outcome, too. `transformers_chats` has behaviours of chat templates, `transformers_places` of offsets.
"""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokenizers import AddedToken

Load = Callable[..., Any]
Behaviour = Callable[[Load, Path], Any]

BEHAVIOURS: dict[str, Behaviour] = {}
NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
CORPUS = [["A cat sat here.", "Another sat there."], ["Signs (such as #) and numbers 4 56.", "No more."]]
SENTENCES = [
    "Three short words",
    "Three short words and a few more",
    "Three short words and a few more behind them",
]


def behaviour(function: Behaviour) -> Behaviour:
    """Add a behaviour to the list."""
    BEHAVIOURS[function.__name__] = function
    return function


def outcome(call: Callable[[], Any]) -> Any:
    """Return the result of a call, or the class and the text of its exception."""
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


def rows_of(batch: Any) -> list[dict[str, Any]]:
    """Turn the columns of a batch into one dict per row."""
    return [{key: batch[key][i] for key in batch} for i in range(len(batch["input_ids"]))]


def known_text(tokenizer: Any, n: int = 20) -> tuple[str, list[int]]:
    """Make a text of n tokens that are words, with its ids."""
    found = []
    for i in sorted({*tokenizer.get_vocab().values()}):
        text = tokenizer.decode([i], clean_up_tokenization_spaces=False)
        if re.fullmatch("[ a-zA-Z]+", text) and tokenizer.encode(text, add_special_tokens=False) == [i]:
            found.append(i)
        if len(found) == n:
            break
    text = tokenizer.decode(found, clean_up_tokenization_spaces=False)
    if " " not in text and len(found) > 1:
        text = f"{tokenizer.decode(found[:1])} {tokenizer.decode(found[1:])}"
    return text, tokenizer.encode(text, add_special_tokens=False)


def with_pad(load: Load, **options: Any) -> Any:
    """Load a tokenizer that has a pad token."""
    tokenizer = load(**options)
    if tokenizer.pad_token_id is None:
        tokenizer.add_special_tokens({"pad_token": "<PAD>"})
    return tokenizer


@behaviour
def signature_and_properties(load: Load, folder: Path) -> Any:
    t = load()
    parameters = inspect.signature(type(t).__init__).parameters
    names = (*NAMED, "extra_special_tokens", "model_max_length", "init_inputs", "padding_side")
    return (
        {name: getattr(t, name) for name in names},
        [getattr(t, f"{name}_id") for name in NAMED],
        t.extra_special_tokens_ids,
        sorted(name for name in parameters if name in t.init_kwargs),
        list(parameters),
        t.model_input_names,
        sorted(t.init_kwargs),
    )


@behaviour
def ids_of_named_tokens_can_be_set(load: Load, folder: Path) -> Any:
    t, seen = load(), []
    token_id = min(t.get_vocab().values())
    for name in NAMED:
        for value in (None, token_id):
            setattr(t, f"{name}_id", value)
            seen.append((getattr(t, name), getattr(t, f"{name}_id"), t.encode("a b")))
    for ids in ([], [token_id]):
        t.extra_special_tokens_ids = ids
        seen.append((t.extra_special_tokens, t.extra_special_tokens_ids, t.encode("a b")))
    return seen


@behaviour
def special_tokens_are_tokens_of_their_own(load: Load, folder: Path) -> Any:
    t = load(do_lower_case=True)
    t.add_tokens(["[ONE]"], special_tokens=True)
    t.add_special_tokens({"extra_special_tokens": ["[TWO]"]}, replace_extra_special_tokens=False)
    assert t.tokenize("[ONE]") == ["[ONE]"]
    return t.tokenize("[TWO]"), t.tokenize("a[ONE] b[TWO]"), t("[one] [ONE]")


@behaviour
def saved_tokenizers_load_as_they_were(load: Load, folder: Path) -> Any:
    seen: list[Any] = [load().model_max_length]
    for number, options in enumerate(({}, {"model_max_length": 42}, {"model_max_length": 42})):
        t = load(**options)
        if options:
            t.add_tokens(["bim", "bambam"])
            extra = [*t.extra_special_tokens, "<extra>"]
            t.add_special_tokens({"extra_special_tokens": extra}, replace_extra_special_tokens=False)
        text = " She was glad,W\u00e9lcome bim,bambam<extra>"
        before = t.encode(text, add_special_tokens=False), t.get_vocab()
        names = t.save_pretrained(folder / str(number))
        again = type(t).from_pretrained(folder / str(number))
        assert (again.encode(text, add_special_tokens=False), again.get_vocab()) == before
        assert {"bim", "bambam", "<extra>"} <= {*again.get_vocab()} or not options
        other = type(t).from_pretrained(folder / str(number), model_max_length=43)
        seen.append((before[0], [Path(name).name for name in names], again.extra_special_tokens))
        seen.append((again.model_max_length, other.model_max_length, other(text)))
    return seen


@behaviour
def tokens_ids_and_text_agree(load: Load, folder: Path) -> Any:
    t = load()
    text, ids = known_text(t)
    assert t.convert_tokens_to_ids(t.tokenize(text)) == ids
    return text, ids, t.convert_ids_to_tokens(ids), t.decode(ids), t.convert_tokens_to_string(t.tokenize(text))


@behaviour
def type_ids_and_sequence_ids(load: Load, folder: Path) -> Any:
    t = load()
    pair = t("Try this way.", "Give it that.", return_token_type_ids=True)
    assert len(pair["input_ids"]) == len(pair["token_type_ids"])
    single = t("Try this way.", return_token_type_ids=True)
    return pair, single, pair.sequence_ids(), single.sequence_ids(), t.num_special_tokens_to_add(pair=True)


@behaviour
def number_of_added_ids_is_as_promised(load: Load, folder: Path) -> Any:
    t = load()
    plain = t.encode("Try this way.", "Give it that.", add_special_tokens=False)
    framed = t.encode("Try this way.", "Give it that.", add_special_tokens=True)
    return plain, framed, t.num_special_tokens_to_add(pair=True), t.num_special_tokens_to_add(pair=False)


@behaviour
def single_texts_keep_the_longest_length(load: Load, folder: Path) -> Any:
    t = with_pad(load, model_max_length=100)
    text, ids = known_text(t)
    long, seen = text * 100, []
    for padding in (False, True, "longest"):
        for truncation in (True, "longest_first", "only_first"):
            for given in (long, [long]):
                made = t(given, padding=padding, truncation=truncation)
                row = made["input_ids"] if given is long else made["input_ids"][0]
                assert len(row) == 100
                seen.append(made)
        for given in (long, [long]):
            t.deprecation_warnings = {}  # so that it warns again
            seen.append(t(given, padding=padding, truncation=False))
    cut = {"add_special_tokens": False, "truncation": "longest_first", "return_overflowing_tokens": True}
    seen.append(t(text, max_length=len(ids) - 2, stride=2, **cut))
    assert seen[-1]["input_ids"] == [ids[:-2], ids[-4:]]
    return seen


@behaviour
def pairs_keep_the_longest_length(load: Load, folder: Path) -> Any:
    t = with_pad(load, model_max_length=100)
    text, ids = known_text(t)
    other, seen = "Here is one more sentence that we encode.", []
    n = len(t.encode(text, other, add_special_tokens=False))
    long = text * 100
    for padding in (False, True, "longest"):
        for truncation in (True, "longest_first", "only_first"):
            seen.append(t(long, other, padding=padding, truncation=truncation))
            seen.append(t([long], [other], padding=padding, truncation=truncation))
        seen.append(t(other, long, padding=padding, truncation="only_second"))
        seen.append(t([other], [long], padding=padding, truncation="only_second"))
        for pair in ((other, long), ([other], [long])):
            t.deprecation_warnings = {}
            seen.append(t(*pair, padding=padding, truncation=False))
    for truncation in ("longest_first", True, "only_first", "only_second"):
        cut = {"truncation": truncation, "return_overflowing_tokens": True, "add_special_tokens": False}
        made = t(text, other, max_length=n - 2, stride=2, **cut)
        assert len(made["input_ids"][0]) == n - 2
        seen.append(made)
    return seen, ids


@behaviour
def masks_of_special_tokens(load: Load, folder: Path) -> Any:
    t, seen = load(), []
    for given in (("Encode me.",), ("Encode me.", "And me as well.")):
        plain = [i for text in given for i in t.encode(text, add_special_tokens=False)]
        made = t(*given, return_special_tokens_mask=True)
        rows = zip(made["input_ids"], made["special_tokens_mask"], strict=True)
        assert [i for i, is_special in rows if not is_special] == plain
        ids = made["input_ids"]
        seen.append((made, outcome(lambda i=ids: t.get_special_tokens_mask(i, already_has_special_tokens=True))))
    return seen


@behaviour
def sides_can_be_given_at_loading(load: Load, folder: Path) -> Any:
    seen: list[Any] = []
    for name in ("padding_side", "truncation_side"):
        for side in ("left", "right"):
            t = with_pad(load, **{name: side})
            assert getattr(t, name) == side
            seen.append(t(SENTENCES, padding=True, truncation=True, max_length=5))
        seen.append(outcome(lambda n=name: load(**{n: "unauthorized"})))
    return seen


@behaviour
def padding_on_both_sides(load: Load, folder: Path) -> Any:
    t, seen = with_pad(load), []
    ids = t.encode("Sequence")
    n = len(ids)
    for side, is_argument in (("right", False), ("left", False), ("right", True), ("left", True)):
        options: dict[str, Any] = {"padding_side": side} if is_argument else {}
        if not is_argument:
            t.padding_side = side
        made = t("Sequence", max_length=n + 10, padding="max_length", return_special_tokens_mask=True, **options)
        pads = [t.pad_token_id] * 10
        assert made["input_ids"] == (ids + pads if side == "right" else pads + ids)
        seen.append((made, t.encode("Sequence", max_length=n + 10, padding="max_length")))
        for padding in (True, False, "longest", "do_not_pad"):
            made = t("Sequence", padding=padding, return_special_tokens_mask=True, return_token_type_ids=True)
            assert made["input_ids"] == ids
            seen.append(made)
    return seen


@behaviour
def truncation_on_both_sides(load: Load, folder: Path) -> Any:
    t, seen = load(), []
    ids = t.encode("This is a text to cut", add_special_tokens=False)
    for side in ("right", "left"):
        t.truncation_side = side
        options = {"max_length": len(ids) - 3, "truncation": True, "add_special_tokens": False}
        cut = t.encode("This is a text to cut", **options)
        assert cut == (ids[:-3] if side == "right" else ids[3:])
        for truncation in (True, "longest_first", False, "do_not_truncate"):
            seen.append(t.encode("This is a text to cut", truncation=truncation, add_special_tokens=False))
            assert seen[-1] == ids
        seen.append(cut)
    return seen


@behaviour
def lengths_are_multiples(load: Load, folder: Path) -> Any:
    t = with_pad(load)
    made = [t(text, padding=True, pad_to_multiple_of=8) for text in ("", "This is some input")]
    made.append(t("This", padding=True, truncation=True, pad_to_multiple_of=8))
    assert not any(len(value) % 8 for one in made for value in one.values())
    made.append(t("This", pad_to_multiple_of=8))
    bad = {"padding": True, "truncation": True, "max_length": 12, "pad_to_multiple_of": 8}
    return made, outcome(lambda: t("This", **bad))


@behaviour
def rows_are_padded_later(load: Load, folder: Path) -> Any:
    t, seen = with_pad(load), []
    rows = [
        {"input_ids": [1, 2, 3, 4, 5, 6], "attention_mask": [1, 1, 1, 1, 1, 0]},
        {"input_ids": [1, 2, 3], "attention_mask": [1, 1, 0]},
    ]
    for side in ("right", "left"):
        t.padding_side = side
        seen.append(t.pad(copy.deepcopy(rows)))
        for options in ({}, {"return_tensors": "np"}, {"padding": "max_length", "max_length": 70}):
            seen.append(t.pad(t(SENTENCES), **options))
            seen.append(t.pad([t(text, return_special_tokens_mask=True) for text in SENTENCES], **options))
    return seen


@behaviour
def without_a_pad_token_padding_raises(load: Load, folder: Path) -> Any:
    t = load()
    t.pad_token = None
    return outcome(lambda: t(SENTENCES, padding="longest")), outcome(lambda: t("a", padding=True)), t(SENTENCES)


@behaviour
def vocabulary_can_be_read(load: Load, folder: Path) -> Any:
    t = load()
    vocabulary = t.get_vocab()
    sample = sorted(vocabulary.items(), key=lambda item: item[1])[:: max(1, len(vocabulary) // 500)]
    for token, i in sample:
        assert t.convert_tokens_to_ids(token) == i or token == t.unk_token
        assert t.convert_ids_to_tokens(i) == token
    t.add_tokens(["asdfasdfasdf"])
    return sample, len(vocabulary), len(t), t.vocab_size, t.convert_ids_to_tokens(len(t) - 1)


@behaviour
def the_same_call_gives_the_same(load: Load, folder: Path) -> Any:
    t, a = load(), SENTENCES
    calls = (lambda: t(a[0]), lambda: t(a[0], a[1]), lambda: t(a), lambda: t(a, a))
    made = [(call(), call()) for call in calls]
    assert all(one.data == other.data for one, other in made)
    assert t([*zip(a, a, strict=True)]).data == t(a, a).data
    return made


@behaviour
def batches_are_their_rows(load: Load, folder: Path) -> Any:
    seen: list[Any] = []
    for side in ("right", "left"):
        t = with_pad(load)
        t.padding_side = side
        assert [dict(t(text)) for text in SENTENCES] == rows_of(t(SENTENCES, padding=False))
        n = max(len(ids) for ids in t(SENTENCES)["input_ids"])
        padded = [dict(t(text, max_length=n, padding="max_length")) for text in SENTENCES]
        assert padded == rows_of(t(SENTENCES, padding=True))
        padded = [dict(t(text, max_length=100, padding="max_length")) for text in SENTENCES]
        assert padded == rows_of(t(SENTENCES, max_length=100, padding="max_length"))
        for padding in (True, False):
            longer = t(SENTENCES, max_length=n + 10, padding=padding)
            assert longer.data == t(SENTENCES, padding=padding).data
            seen.append(longer)
    return seen


@behaviour
def words_are_texts_split_before(load: Load, folder: Path) -> Any:
    t, seen = outcome(lambda: load(add_prefix_space=True)), []
    if isinstance(t, tuple):
        return t
    text, _ = known_text(t)
    words = text.split()
    batch = [words, words, words + words]
    for added in (False, True):
        options = {"is_split_into_words": True, "add_special_tokens": added}
        seen += [t(words, **options), t(words, words, **options), t(batch, **options)]
        seen += [t([(words, words), (words + words, words)], **options), t(batch, batch, **options)]
        seen += [made.word_ids() for made in seen[-5:]]
        seen += [t(f" {text}", add_special_tokens=added), t([f" {' '.join(row)}" for row in batch])]
    return seen


@behaviour
def targets_become_labels(load: Load, folder: Path) -> Any:
    t = with_pad(load)
    texts = [" The chief sees no way", f" The chief says that his answer is {'that no way leads there ' * 4}"]
    others = ["Șeful nu vede nicio cale", f"Șeful spune că răspunsul este {'că nicio cale nu duce acolo ' * 4}"]
    tensors = {"return_tensors": "np", "max_length": 3}
    return (
        t(texts, text_target=others, max_target_length=10, **tensors),
        t(texts, text_target=others, **tensors),
        t(texts, max_target_length=10, **tensors),
        t(text_target=others),
        outcome(lambda: t(texts, text_target=others, src_lang="en_XX", **tensors)),
    )


@behaviour
def overflow_becomes_a_matrix(load: Load, folder: Path) -> Any:
    t, seen = with_pad(load), []
    for given in (SENTENCES[2], [SENTENCES[2]], [SENTENCES[2], "Very small"]):
        for truncation in (True, "only_first"):
            options = {"max_length": 6, "padding": True, "truncation": truncation, "return_tensors": "np"}
            made = t(given, return_overflowing_tokens=True, **options)
            assert all(made[key].ndim == 2 for key in made if key != "overflow_to_sample_mapping")
            seen.append(made)
    return seen


@behaviour
def empty_text_keeps_its_type(load: Load, folder: Path) -> Any:
    t = load()
    made = t("", return_tensors="np"), t("", add_special_tokens=False), t([""], return_tensors="np")
    return made, [str(one["input_ids"].dtype) for one in (made[0], made[2])], t.encode(""), t.tokenize("")


@behaviour
def flags_of_added_tokens_are_saved(load: Load, folder: Path) -> Any:
    new = AddedToken("[NEW_EOS]", rstrip=False, lstrip=True, normalized=False, special=True)
    t = load(eos_token=new)
    t.save_pretrained(folder)
    again = type(t).from_pretrained(folder)
    assert pickle.loads(pickle.dumps(new)).__getstate__() == new.__getstate__()
    return [
        (sorted((i, repr(a)) for i, a in x.added_tokens_decoder.items()), x.eos_token_id, x("a [NEW_EOS]b"))
        for x in (t, again)
    ]


@behaviour
def options_may_not_hide_methods(load: Load, folder: Path) -> Any:
    return outcome(lambda: load(add_special_tokens=True)), outcome(lambda: load(get_vocab=True))


@behaviour
def named_tokens_can_be_given_at_loading(load: Load, folder: Path) -> Any:
    t = load(pad_token="[PAD]")
    seen: list[Any] = [t.pad_token, t.pad_token_id, t(SENTENCES, padding=True)]
    for adds in (True, False):
        t = outcome(lambda a=adds: load(bos_token="<BOS>", add_bos_token=a))
        if isinstance(t, tuple):
            seen.append(t)
            continue
        seen += [t.bos_token, t("Hello world", add_special_tokens=False), t("Hello world"), t.encode("<BOS>x")]
    t = load(bos_token=None)
    outcome(lambda: setattr(t, "add_bos_token", True))
    seen += [t.bos_token, getattr(t, "add_bos_token", None), t("Hello world")]
    seen.append(t.decode(t("Hello world")["input_ids"], skip_special_tokens=True))
    return seen


@behaviour
def tokens_can_be_added(load: Load, folder: Path) -> Any:
    t = load()
    sizes = [len(t), t.vocab_size]
    counts = [t.add_tokens(""), t.add_tokens("testoken"), t.add_tokens(["testoken1", "testtoken2"])]
    counts += [t.add_special_tokens({}), t.add_special_tokens({"bos_token": "[BOS]", "eos_token": "[EOS]"})]
    bad = outcome(lambda: t.add_special_tokens({"additional_special_tokens": "<one>"}))
    both = {"additional_special_tokens": ["<old>"], "extra_special_tokens": ["<new>"]}
    bad = bad, outcome(lambda: t.add_special_tokens(both))
    for names in (["<two>"], ["<three>", "<four>"]):
        counts.append(outcome(lambda n=names: t.add_special_tokens({"additional_special_tokens": n})))
    t.add_tokens([AddedToken("first new"), AddedToken("secondnew", lstrip=True, rstrip=True)])
    new = {"eos_token": AddedToken("<|end|>"), "pad_token": AddedToken("<|fill|>")}
    counts.append(t.add_special_tokens(new))
    text = "<|end|> first new words secondnew <|fill|>"
    assert t.encode(text, add_special_tokens=False)[0] == t.eos_token_id
    assert t.encode(text, add_special_tokens=False)[-1] == t.pad_token_id
    return sizes, counts, bad, t(text), t.tokenize(text), sorted(t.get_added_vocab().items()), len(t)


@behaviour
def added_tokens_decode_and_are_skipped(load: Load, folder: Path) -> Any:
    t = load()
    _, ids = known_text(t)
    t.add_special_tokens({"cls_token": "[SPECIAL]"})
    t.add_tokens([AddedToken("[ABC]", normalized=False), AddedToken("GHI IHG", normalized=False)])
    one = t.encode("[SPECIAL]", add_special_tokens=False)
    assert len(one) == 1
    both = t.decode(ids + one, clean_up_tokenization_spaces=False)
    assert "[SPECIAL]" not in t.decode(t.encode(both), skip_special_tokens=True)
    mixed = t.encode("[ABC] x[ABC]GHI IHG[SPECIAL]", add_special_tokens=False)
    skipped = t.decode(mixed, skip_special_tokens=True)
    return both, t.encode(both), mixed, t.decode(mixed), skipped, t.batch_decode([mixed, ids])


@behaviour
def pickles_and_copies_answer_the_same(load: Load, folder: Path) -> Any:
    t = load()
    t("used before")
    again = [pickle.loads(pickle.dumps(t)), copy.deepcopy(t), copy.copy(t)]
    made = [x("Oslo and Bergen are towns", return_offsets_mapping=True) for x in (t, *again)]
    assert all(one.data == made[0].data for one in made)
    return made, again[0].tokenize("Oslo and Bergen"), type(again[0]).__name__
