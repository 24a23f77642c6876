"""Folders of GPT-SW3: fastbpe.load gives the ids and texts of AutoTokenizer."""

from __future__ import annotations

import io
import random
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")
pytest.importorskip("sentencepiece")

import sentencepiece
import transformers

import fastbpe
from fastbpe import FormatError
from helpers import folder_grid
from helpers.sampling import SEED, n_rounds, share_of

WORDS = [
    "Svenska är kul! Den katten (på mattan) hade 12,345 ben i Zürich.",
    "en katt kan räkna till 12 och 中国 人 är sällsynt ß",
    "låg lägre lägst nyare nyast\tvid\n",
]
MODELS: dict[str, dict[str, Any]] = {
    "plain": {},
    "published": {"normalization_rule_name": "identity", "remove_extra_whitespaces": False, "split_digits": True},
    "folds": {"normalization_rule_name": "nmt_nfkc_cf"},
    "no prefix": {"add_dummy_prefix": False},
    "no change": {
        "normalization_rule_name": "identity",
        "add_dummy_prefix": False,
        "remove_extra_whitespaces": False,
    },
    "symbols": {"user_defined_symbols": ["<|python|>", "  ", "é", "<new>"], "control_symbols": ["<ctl>"]},
    "roles": {"eos_id": 3, "eos_piece": "<|endoftext|>", "pad_id": 0, "pad_piece": "<pad>", "unk_id": 2},
    "suffix": {"treat_whitespace_as_suffix": True},
}
SPACES = "\u2002\u2003\u2005\u2008\u2009\u200a\u202f\u3000\ufffc\u2004\u1680\u2028"
GONE = "\0\x08\x0b\r\x1c\x1f\x7f\x84\x85\x9f\xa0\xad\u200b\u200c\ufeff"
MARKS = "\u0301\u0308\u0327\u0345\u05b0\u0f71\u09be\u1161\u11a8\u302a\U0001d165\u1b35\U00011930"
PARTS = [*SPACES, *GONE, *MARKS, *"aeouAEé中국각ガか한\u1100\u212b\u2126\u0958\u1b05\U00011935"]
PARTS += ["katt", "Svenska ", " ", "  ", "12,3", "\t", "\n", "\u2581", "<s>", "<|endoftext|>", "<unk>", "<pad>"]
PARTS += [
    "<ctl>",
    "<|python|>",
    "<new>",
    "<x>",
    "Zürich",
    "ﬁ",
    "🙂",
    "ก็",
    "e\u0301\u0327",
    "<|python\xad|>",
    "<",
    ">",
]
PARTS += ["<0x41>", "<y>", "<|", "|>"]


@lru_cache
def model(name: str, kind: str) -> bytes:
    made = io.BytesIO()
    options = {"vocab_size": 420, "minloglevel": 2, "model_type": kind, "byte_fallback": True, **MODELS[name]}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(WORDS * 9), model_writer=made, hard_vocab_limit=False, **options
    )
    return made.getvalue()


def draw(rng: random.Random) -> dict[str, Any]:
    """Draw the files of a folder."""
    source = model(rng.choice([*MODELS]), rng.choice(["bpe", "bpe", "unigram"]))
    processor = sentencepiece.SentencePieceProcessor(model_proto=source)
    n = processor.GetPieceSize()
    config: dict[str, Any] = {"tokenizer_class": "GPTSw3Tokenizer"}
    files: dict[str, Any] = {"spiece.model": source, "tokenizer_config.json": config}
    options = {
        "pad_token": rng.choice([None, "<unk>", "<x>"]),
        "bos_token": rng.choice([None, "<|endoftext|>"]),
        "unk_token": rng.choice([None, "<x>", "<|python|>"]),
        "mask_token": "<y>",
        "additional_special_tokens": rng.choice([["<y>"], ["<|python|>", "<0x41>"], ["<ctl>"]]),
        "do_lower_case": True,
    }
    config |= {key: value for key, value in options.items() if rng.random() < 0.2}
    if rng.random() < 0.3:
        names = ["<s>", "<|endoftext|>", "<pad>", "<new>", "katt"]
        places = {name: processor.PieceToId(name) for name in names}
        own = {name: i for name, i in places.items() if processor.IdToPiece(i) == name}
        new = [name for name in names if name not in own]
        ids = {**own, **{name: n + i for i, name in enumerate(new)}}
        config["added_tokens_decoder"] = {
            str(i): {"content": name, "special": rng.random() < 0.5} for name, i in ids.items()
        }
    elif rng.random() < 0.3:
        files["added_tokens.json"] = {"<new>": n}
    return files


def difference(ours: Any, theirs: Any, rng: random.Random) -> str:
    """Say how two tokenizers differ; "": in nothing."""
    if ours.n_vocab != len(theirs):
        return f"{ours.n_vocab} tokens, not {len(theirs)}"
    for text in ["", *("".join(rng.choices(PARTS, k=rng.randint(1, 9))) for _ in range(40))]:
        ids = theirs.encode(text, add_special_tokens=False)
        if (told := ours.encode(text, allowed_special="all")) != ids:
            return f"{text!r} is {told}, not {ids}"
        told, spans = ours.encode_with_offsets(text, allowed_special="all")
        if told != ids:
            return f"{text!r} is {told} with offsets, not {ids}"
        if [*spans] != sorted(spans) or any(not 0 <= start <= end <= len(text) for start, end in spans):
            return f"{text!r} has the offsets {spans}"
        if ours.encode(text, allowed_special="all", with_template=True) != theirs.encode(text):
            return f"{text!r} has other ids with the template"
        plain = theirs.convert_tokens_to_ids(theirs._tokenize(text))
        if all(token.special for token in ours.added_tokens) and ours.encode_ordinary(text) != plain:
            return f"{text!r} is {ours.encode_ordinary(text)} as ordinary text, not {plain}"
        for listed in (ids, rng.choices(range(ours.n_vocab), k=rng.randint(0, 8))):
            for skip in (True, False):
                told = ours.decode(listed, skip_special_tokens=skip)
                decoded = theirs.decode(listed, skip_special_tokens=skip)
                if told != decoded:
                    return f"{listed} decode to {told!r}, not {decoded!r}, skipping: {skip}"
    pair = ours.encode_with_template("den", "katt")
    return "" if pair == theirs.encode("den", "katt") else "two texts have other ids with the template"


def test_random_folders_have_the_ids_of_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    n_equal, rounds = 0, n_rounds(24, 500)
    for number in range(rounds):
        seed = f"{SEED} {number}"
        rng = random.Random(seed)
        files = draw(rng)
        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent) / rng.choice(["gpt-sw3-7b", "gpt-sw3-126m"])
            folder.mkdir()
            folder_grid.write(files, folder)
            theirs = transformers.AutoTokenizer.from_pretrained(str(folder))
            try:
                ours = fastbpe.load(folder)
            except FormatError as error:
                if "would share the id" not in str(error) and "is no special token, but" not in str(error):
                    raise
                continue
            found = difference(ours, theirs, rng)
        assert not found, f"{seed}: {found}: {files['tokenizer_config.json']}"
        n_equal += 1
    print(f"{n_equal} of {rounds} folders are equal")
    assert n_equal >= share_of(12)
