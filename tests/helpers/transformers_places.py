"""Behaviours of alignment, offsets, languages and training that transformers' own tests check.

See `transformers_behaviours`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from helpers.transformers_behaviours import CORPUS, NAMED, SENTENCES, Load, behaviour, outcome


def _alignment_of(made: Any, row: int | None, places: range) -> Any:
    """Collect all that BatchEncoding's methods tell of a row; row: None: without naming it."""
    at = () if row is None else (row,)
    names = ("token_to_word", "token_to_chars", "token_to_sequence", "char_to_token", "char_to_word")
    names += ("word_to_tokens", "word_to_chars")
    seen = {name: [outcome(lambda n=name, i=i: getattr(made, n)(*at, i)) for i in places] for name in names}
    for name in ("char_to_token", "char_to_word", "word_to_tokens", "word_to_chars"):
        told = [outcome(lambda n=name, i=i: getattr(made, n)(*at, i, sequence_index=1)) for i in places]
        seen[f"{name} of the second"] = told
    return seen, made.tokens(row or 0), made.word_ids(row or 0), made.sequence_ids(row or 0)


@behaviour
def tokens_words_and_characters_align(load: Load, folder: Path) -> Any:
    t = load()
    text, other = "Wonderful no example with subtoken", "Amazing example full of subtoken"
    plain = t(text, add_special_tokens=False)
    last = len(plain["input_ids"]) - 1
    assert plain.token_to_chars(last).end == len(text)
    assert plain.char_to_token(len(text) - 1) == last
    seen = [_alignment_of(plain, row, range(6)) for row in (None, 0)]
    batch = t([text] * 3, add_special_tokens=False)
    seen += [_alignment_of(batch, row, range(last, last + 3)) for row in (0, 2)]
    for added in (False, True):
        seen.append(_alignment_of(t(text, other, add_special_tokens=added), None, range(9)))
        seen.append(_alignment_of(t([text] * 3, [other] * 3, add_special_tokens=added), 1, range(9)))
    pair = t(text, other, add_special_tokens=False)
    places = [pair.char_to_token(s.find("example"), sequence_index=i) for i, s in enumerate((text, other))]
    assert pair["input_ids"][places[0]] == pair["input_ids"][places[1]]
    return seen, places


@behaviour
def offsets_have_one_span_an_id(load: Load, folder: Path) -> Any:
    t, seen = load(), []
    for given in (("Wonderful no example with subtoken",), ("Wonderful no example", "Along with its pair")):
        made = t(*given, return_special_tokens_mask=True, return_offsets_mapping=True)
        assert len(made["offset_mapping"]) == len(made["input_ids"])
        assert sum(made["special_tokens_mask"]) == t.num_special_tokens_to_add(len(given) == 2)
        seen.append(made)
    return seen


@behaviour
def new_tokenizers_can_be_trained(load: Load, folder: Path) -> Any:
    t, seen = load(), []
    named = {getattr(t, name): f"{getattr(t, name)}a" for name in NAMED if getattr(t, name) is not None}
    for options in ({}, {"special_tokens_map": named}):
        new = outcome(lambda o=options: t.train_new_from_iterator(CORPUS, 400, **o))
        if isinstance(new, tuple):
            seen.append(new)
            continue
        made = new(["A cat sat there", "Another cat \U0001f917."])
        decoded = [new.decode(ids, skip_special_tokens=True) for ids in made["input_ids"]]
        seen.append((made, decoded, new.special_tokens_map, new.all_special_tokens, new.all_special_ids))
        seen.append((new.num_special_tokens_to_add(False), new.num_special_tokens_to_add(True)))
        seen.append((new.max_len_single_sentence, new.max_len_sentences_pair, sorted(new.get_vocab().items())))
    return seen


@behaviour
def prefix_space_can_be_set(load: Load, folder: Path) -> Any:
    seen: list[Any] = []
    for adds in (True, False):
        t = outcome(lambda a=adds: load(add_prefix_space=a))
        if isinstance(t, tuple):
            seen.append(t)
            continue
        part = t.backend_tokenizer.pre_tokenizer
        seen.append((getattr(t, "add_prefix_space", None), getattr(part, "add_prefix_space", None)))
        seen.append((t("Hello world"), t(["Hello", "world"], is_split_into_words=True)))
    return seen


@behaviour
def languages_come_back(load: Load, folder: Path) -> Any:
    t, seen = load(), []
    texts = [
        "A trial \U0001f60a\nBorn in 19000, caf\u00e9.\n\u751f\u6d3b\u7684\nHi  Hi\nHi   Hi\n\n \n  \n Hi",
        "<s>\nx<s>y",
        "\u0648\u0642\u0627\u0644\u060c \u0645\u0627\u0645\u0627.",
        "\u041e\u043d \u043d\u0438\u0447\u0435\u0433\u043e.",
        "\u03b4\u03bf\u03ba\u03b9\u03bc\u03b1\u03c3\u03c4\u03b9\u03ba\u03cc",
        "\u092f\u0939 \u090f\u0915 \u0935\u093e\u0915\u094d\u092f \u0939\u0948\u0964",
        "\u1ede Vi\u1ec7t Long t\u1eeb n\u0103m.",
        "\u0e1b\u0e35 ird   \u0e14",
        "def foo(x):\n    return x + 1\n",
    ]
    for text in texts:
        ids = t.encode(text, add_special_tokens=False)
        decoded = [t.decode(ids, skip_special_tokens=skips) for skips in (True, False)]
        seen.append((ids, t.tokenize(text), decoded, t.decode(np.array(ids))))
    return seen, t.batch_decode([ids for ids, *_ in seen], skip_special_tokens=True)


@behaviour
def local_files_are_enough(load: Load, folder: Path) -> Any:
    from transformers import AutoTokenizer

    load().save_pretrained(folder)
    loaded = [AutoTokenizer.from_pretrained(folder, local_files_only=local) for local in (False, True)]
    assert loaded[0].get_vocab() == loaded[1].get_vocab()
    return [(type(t).__name__, t.all_special_tokens, t(SENTENCES)) for t in loaded]
