"""Folders of models against AutoTokenizer: ids, roles, flags, decoding and skipping, whatever the files name."""

from __future__ import annotations

import json
import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")

import transformers

import fastbpe
from fastbpe import FormatError
from helpers import folder_grid
from helpers.sampling import SEED, n_rounds

#: What fastbpe refuses although transformers loads it; docs/formats.md lists it.
LIMITS = (
    "is normalized and strips white space",
    "a normalizer, whose result is searched",
    "would put a space before each piece",
)
RANKS = ("ranks", "tiktoken.model")


def peer_of(kind: str, folder: Path) -> Any:
    """Load a folder with transformers; None if it cannot."""
    try:
        peer = transformers.AutoTokenizer.from_pretrained(folder)
    except (TypeError, ValueError, AttributeError, KeyError):
        return None
    if kind not in RANKS:
        return peer
    # transformers adds the tokens of added_tokens_decoder twice, first as special ones, and so leaves them out of
    # decoded text. The tokenizer that it saves has the flags that the files give.
    peer.save_pretrained(folder / "saved")
    return transformers.AutoTokenizer.from_pretrained(folder / "saved")


def difference(kind: str, folder: Path, rng: random.Random) -> str:
    """Say how a folder differs; "" if in nothing, else a limit's text or a difference that begins with "!"."""
    peer = peer_of(kind, folder)
    try:
        ours = fastbpe.load(folder, pattern="llama3" if kind in RANKS else None)
    except FormatError as error:
        return "refused by both" if peer is None else f"!only we refuse: {error}"
    if peer is None and kind in RANKS:
        return "refused by transformers alone: extra_special_tokens must be texts there"
    if peer is None:
        return "!only transformers refuses"
    if ours.n_vocab != len(peer):
        return f"!{ours.n_vocab} ids, not {len(peer)}"
    for role in ("bos", "eos", "unk", "pad"):
        theirs = getattr(peer, f"{role}_token_id")
        if theirs is not None and getattr(ours, f"{role}_token_id") != theirs:
            return f"!{role} is {getattr(ours, f'{role}_token_id')}, not {theirs}"
    # As in sentencepiece, a .model decodes control symbols to nothing, finds no <unk> in text, and decodes it,
    # bytes that are not UTF-8, and spaces at the start in its own way. With flags, its tokens are those of
    # a tokenizer.json.
    is_model = kind.startswith("sentencepiece") and ours._family.own.conventions is None
    # Control symbols are special, also those that no file names.
    decoded, left_out = list(range(len(peer))), []
    if kind.startswith("sentencepiece"):
        special = [i for i in range(1, 5) if i in peer.added_tokens_decoder]
        decoded = [*special, *range(261, len(peer))]
        left_out = [peer.convert_ids_to_tokens(i) for i in range(1, 5) if i not in special]
        left_out += ["<unk>"] if is_model else []
    for _ in range(12):
        text = folder_grid.text(rng)
        for name in left_out:
            text = text.replace(name, "")
        ids = ours.encode(text, allowed_special="all")
        theirs = peer.encode(text, add_special_tokens=False)
        if ids != theirs:
            return f"!{text!r} is {ids}, not {theirs}"
        ids = [rng.choice(decoded) for _ in range(8)]
        for skips in (False, True):
            told = ours.decode(ids, skip_special_tokens=skips)
            theirs = peer.decode(ids, skip_special_tokens=skips or is_model)
            if told.lstrip() != theirs.lstrip() if is_model else told != theirs:
                return f"!{ids} decode to {told!r}, not {theirs!r}, skipping: {skips}"
    return ""


@pytest.mark.filterwarnings("ignore:.*padding is not applied:fastbpe.FormatWarning")
@pytest.mark.parametrize("kind", folder_grid.KINDS)
def test_folders_are_read_as_transformers_reads_them(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    if kind.startswith("sentencepiece"):
        pytest.importorskip("google.protobuf")  # transformers reads such models with it
    counts: Counter[str] = Counter()
    n_equal = n_rounds(25, 3000)
    for number in range(2 * n_equal + 20):  # some are refused
        if counts[""] == n_equal:
            break
        seed = f"{SEED} {kind} {number}"
        rng = random.Random(seed)
        files = folder_grid.draw(rng, kind)
        with tempfile.TemporaryDirectory() as folder:
            folder_grid.write(files, Path(folder))
            found = difference(kind, Path(folder), rng)
        named = {name: value for name, value in files.items() if not isinstance(value, bytes)}
        assert not found.startswith("!") or any(limit in found for limit in LIMITS), f"{seed}: {found}: {named}"
        counts[found.split(":")[0]] += 1
    print(f"{kind}: {dict(counts)}")
    assert counts[""] == n_equal


@pytest.mark.parametrize("name", ["DebertaTokenizer", "DebertaTokenizerFast"])
def test_two_files_of_deberta_are_read_as_transformers_reads_them(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The class uses a template, in which no token may contain a space; some tokens of random folders do."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder_grid.write({**folder_grid.two_files(), "tokenizer_config.json": {"tokenizer_class": name}}, tmp_path)
    ours, theirs = fastbpe.load(tmp_path), transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert ours.n_vocab == len(theirs)
    rng = random.Random(SEED)
    for _ in range(50):
        text, pair = (folder_grid.text(rng) + rng.choice(["", "[SEP]", " [MASK]", "[CLS] "]) for _ in range(2))
        assert ours.encode(text, allowed_special="all") == theirs.encode(text, add_special_tokens=False)
        if not any(token in text + pair for token in theirs.all_special_tokens):
            assert ours.encode_with_template(text) == theirs.encode(text)
            # transformers takes an empty second text for none.
            assert not pair or ours.encode_with_template(text, pair) == theirs.encode(text, pair)


@pytest.mark.parametrize("text", ["a<s>ab [Y]ab <s> b", "<s></s> bnewa", "x</s>  b"])
@pytest.mark.parametrize(
    "named",
    [
        {"sep_token": {"content": "<s>", "single_word": True, "normalized": True, "__type": "AddedToken"}},
        {"unk_token": {"content": "</s>", "rstrip": True, "__type": "AddedToken"}},
        {"cls_token": {"content": "</s>", "rstrip": True, "__type": "AddedToken"}, "mask_token": "</s>"},
    ],
)
def test_of_definitions_of_a_token_the_last_new_one_counts(
    named: dict[str, Any], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The class has <s> and </s> for several roles: transformers passes the same definition only once."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    config = {"tokenizer_class": "RobertaTokenizerFast", **named}
    folder_grid.write({**folder_grid.two_files(), "tokenizer_config.json": config}, tmp_path)
    ours, theirs = fastbpe.load(tmp_path), transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert ours.encode(text, allowed_special="all") == theirs.encode(text, add_special_tokens=False)


def test_control_symbol_counts_again_after_a_role_with_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("google.protobuf")  # transformers reads such models with it
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    mask = {"content": "</s>", "single_word": True, "rstrip": True, "normalized": False, "__type": "AddedToken"}
    files = {"tokenizer.model": folder_grid.pieces(), "tokenizer_config.json": {"mask_token": mask}}
    folder_grid.write(files, tmp_path)
    ours, theirs = fastbpe.load(tmp_path), transformers.AutoTokenizer.from_pretrained(tmp_path)
    text = "b</s> a</s>b"
    assert ours.encode(text, allowed_special="all") == theirs.encode(text, add_special_tokens=False)


@pytest.mark.filterwarnings("ignore:.*padding is not applied:fastbpe.FormatWarning")
def test_pad_token_of_a_tokenizer_json_alone_is_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    padding = {"strategy": "BatchLongest", "direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": "[Y]"}
    made = {**json.loads(folder_grid.KINDS["tokenizer.json"][0]()["tokenizer.json"]), "padding": padding}
    folder_grid.write({"tokenizer.json": made}, tmp_path)
    ours, theirs = fastbpe.load(tmp_path), transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert ours.pad_token_id == theirs.pad_token_id == ours.special_tokens["[Y]"]
    assert ours.encode("a[Y]b", allowed_special="all") == theirs.encode("a[Y]b", add_special_tokens=False)
    assert fastbpe.load(tmp_path / "tokenizer.json").pad_token_id is None


@pytest.mark.parametrize("kind", ["tokenizer.json", "two files"])
@pytest.mark.parametrize("stated", [True, False])
def test_cohere_adds_tokens_of_roles_again_without_flags(
    kind: str, stated: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a role that tokenizer_config.json names keeps the flags that added_tokens_decoder gives its token."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    token = {"content": "<PAD>", "lstrip": True, "rstrip": True, "special": True, "normalized": False}
    config: dict[str, Any] = {"tokenizer_class": "CohereTokenizer", "added_tokens_decoder": {"270": token}}
    files = {**folder_grid.KINDS[kind][0](), "tokenizer_config.json": config}
    folder_grid.write(files, tmp_path)
    if stated:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({**config, "pad_token": "<PAD>"}))
    ours, theirs = fastbpe.load(tmp_path), transformers.AutoTokenizer.from_pretrained(tmp_path)
    text = "a <PAD> b"
    assert ours.encode(text, allowed_special="all") == theirs.encode(text, add_special_tokens=False)


@pytest.mark.parametrize("class_name", ["Llama", "CodeLlama", "PreTrained"])
@pytest.mark.parametrize(
    "config",
    [
        {"pad_token": "<unk>"},
        {"add_bos_token": True, "add_eos_token": True},
        {"add_bos_token": True, "bos_token": None},
        {"add_bos_token": True, "bos_token": "</s>", "add_eos_token": True, "eos_token": "▁"},
        {"add_eos_token": True, "eos_token": "<new>", "add_bos_token": False},
        {"add_bos_token": True, "bos_token": "<unk>"},
    ],
)
def test_tokens_around_texts_of_a_model_file_are_those_of_transformers(
    class_name: str, config: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("google.protobuf")  # transformers reads such models with it
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    made = fastbpe.train(["a cat", "the dog"], vocab_size=40, mode="codepoint", hard_vocab_limit=False)
    made.export(tmp_path / "tokenizer.model")
    config = {"tokenizer_class": f"{class_name}Tokenizer", **config}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    ours, theirs = fastbpe.load(tmp_path), transformers.AutoTokenizer.from_pretrained(tmp_path)
    for texts in (("a cat",), ("a cat", "the dog")):
        assert ours.encode_with_template(*texts) == theirs.encode(*texts)
