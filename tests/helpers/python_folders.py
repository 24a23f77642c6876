"""Random folders of classes that transformers runs in Python, loaded by fastbpe and by AutoTokenizer."""

from __future__ import annotations

import pickle
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import transformers

import fastbpe
from fastbpe import FormatError
from helpers import folder_grid, tokenizer_json
from helpers.sampling import SEED, n_rounds

#: Parts of texts for all classes: white space, controls, scripts, tokens that most folders have, pieces of them.
PARTS = [" ", "  ", "\n", "\n\t", "\x00", "\x1c", "\x85", "\u3000", "\u2581", "\u200b", "\ufeff", "\U0010ffff"]
PARTS += ["the cat", "The ", "lowest", "12,3", "(on", "é", "e\u0301", "\u0301", "Zürich", "ß", "ﬁ", "中国", "人"]
PARTS += ["ก็", "🙂"]
PARTS += ["<s>", "</s>", "<pad>", "<unk>", "<mask>", "<ctl>", "<x>", "<new>", "<0x41>", "<", ">"]
PARTS += [" . ", " , ", "? ", " ' ", " 's", " n't", " do not"]
#: Settings of a tokenizer_config.json for decoded text.
_CLEAN_UP: list[dict[str, Any]] = [
    {},
    *({"clean_up_tokenization_spaces": value} for value in (True, True, False, None)),
]
#: Files that stand in a folder with the files of a class. The class takes only the added tokens from them.
_BESIDE: list[dict[str, Any]] = [
    *[{}] * 8,
    {"tokenizer.json": {"version": "1.0", "model": {}, "added_tokens": [tokenizer_json.added(2, "</s>")]}},
    {"tokenizer.json": {"version": "1.0", "model": {}, "added_tokens": [tokenizer_json.added(300, "<new>")]}},
]
#: Classes that put no second eos token after a text that ends with one; `encode_with_template` does.
_ONE_END = ("ByT5Tokenizer", "SiglipTokenizer")
#: Parts of the errors for folders in which two tokens would have one id, a token two, or an id has no token.
_REFUSED = ("would share the id", "in the vocabulary", "no token has the id", "two ids have the token")


def check_random_folders(
    draw: Callable[[random.Random], dict[str, Any]],
    parts: Sequence[str],
    *,
    name: str = "",
    rounds: tuple[int, int] = (24, 500),
    refused: Sequence[str] = (),
    names: Sequence[str] = ("folder",),
) -> None:
    """Draw folders until enough are equal, and assert that no other is different.

    Args:
        draw: draws the files of a folder.
        parts: parts of texts, in addition to PARTS.
        name: the class.
        rounds: numbers of equal folders, as for `n_rounds`.
        refused: parts of errors of fastbpe for folders that transformers loads, in addition to _REFUSED.
        names: names of the folder.
    """
    counts: Counter[str] = Counter()
    for number in range(2 * n_rounds(*rounds) + 20):
        if counts["equal"] == n_rounds(*rounds):
            break
        seed = f"{SEED} {name} {number}"
        rng = random.Random(seed)
        files = draw(rng)
        files["tokenizer_config.json"] |= random.Random(f"clean up {seed}").choice(_CLEAN_UP)
        files |= random.Random(f"json {seed}").choice(_BESIDE)
        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent) / rng.choice(names)
            folder.mkdir()
            folder_grid.write(files, folder)
            load = transformers.AutoTokenizer.from_pretrained
            try:
                ours = fastbpe.load(folder)
            except FormatError as error:
                if not any(said in str(error) for said in (*_REFUSED, *refused)):
                    with pytest.raises(ValueError, match="extra_ids"):  # transformers refuses the folder, too
                        load(str(folder))
                counts["refused"] += 1
                continue
            theirs = load(str(folder))
            found = difference(ours, theirs, rng, [*PARTS, *parts])
            assert pickle.loads(pickle.dumps(ours)) == ours, f"{seed}: {ours} is another one after pickling"
        assert not found, f"{seed}: {found}: {files}"
        counts["equal"] += 1
    print(f"{name}: {dict(counts)}")
    assert counts["equal"] == n_rounds(*rounds)


def difference(ours: Any, theirs: Any, rng: random.Random, parts: Sequence[str]) -> str:
    """Say how two tokenizers differ; "": in nothing."""
    kind = type(theirs).__name__
    if kind != "M2M100Tokenizer" and ours.n_vocab != len(theirs):  # its length may leave out languages
        return f"{ours.n_vocab} tokens, not {len(theirs)}"
    some = rng.choices(parts, k=8)
    for text in ["", "the cat", *some, *("".join(rng.choices(parts, k=rng.randint(1, 9))) for _ in range(30))]:
        ids = theirs.encode(text, add_special_tokens=False)
        if (told := ours.encode(text, allowed_special="all")) != ids:
            return f"{text!r} is {told}, not {ids}"
        told, spans = ours.encode_with_offsets(text, allowed_special="all")
        if told != ids or ours.count(text, allowed_special="all") != len(ids):
            return f"{text!r} is {told} with offsets, not {ids}"
        starts = [start for start, _ in spans]
        if starts != sorted(starts) or any(not 0 <= start <= end <= len(text) for start, end in spans):
            return f"{text!r} has the offsets {spans}"
        whole = theirs.encode(text)
        if kind in _ONE_END and ids[-1:] == [theirs.eos_token_id]:
            whole = [*whole, theirs.eos_token_id]
        if ours.encode(text, allowed_special="all", with_template=True) != whole:
            return f"{text!r} has other ids with the template"
        plain = theirs.convert_tokens_to_ids(theirs._tokenize(text))
        are_special = all(token.special for token in ours.added_tokens)
        if kind not in _ONE_END and are_special and ours.encode_ordinary(text) != plain:
            return f"{text!r} is {ours.encode_ordinary(text)} as ordinary text, not {plain}"
        for listed in (ids, rng.choices(range(ours.n_vocab), k=rng.randint(0, 8))):
            if found := _other_text(ours, theirs, listed):
                return found
    pair = ours.encode_with_template("the", "cat")
    return "" if pair == theirs.encode("the", "cat") else "two texts have other ids with the template"


def _other_text(ours: Any, theirs: Any, ids: list[int]) -> str:
    """Say how the texts of ids differ, decoded in one call and one by one; "": not at all."""
    for skip in (True, False):
        decoded = theirs.decode(ids, skip_special_tokens=skip)
        if (told := ours.decode(ids, skip_special_tokens=skip)) != decoded:
            return f"{ids} decode to {told!r}, not {decoded!r}, skipping: {skip}"
        try:
            decoder = ours.decoder(skip_special_tokens=skip)
        except ValueError:  # the text may change when more ids follow
            continue
        if "".join(map(decoder.push, ids)) + decoder.finish() != decoded:
            return f"{ids} decode to another text one by one, skipping: {skip}"
    return ""
