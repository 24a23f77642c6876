"""Folders whose ids come from a table, except SigLIP's: ids and texts equal AutoTokenizer's."""

from __future__ import annotations

import random
from functools import lru_cache, partial
from typing import Any

import pytest

pytest.importorskip("transformers")
pytest.importorskip("sentencepiece")

import sentencepiece
from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES
from transformers.models.plbart.tokenization_plbart import FAIRSEQ_LANGUAGE_CODES as PLBART_CODES

from fastbpe.formats import table_folders
from helpers.codepoint_models import trained
from helpers.python_folders import check_random_folders

WORDS = [
    "The cat sat (on the mat), and the dog's 12,345 bones fit in the gardens of Zürich.",
    "a cat can count to 12 and 中国 人 is rare ß",
    "lower lowest newer wider",
]
MODELS: dict[str, dict[str, Any]] = {
    "plain": {},
    "folds": {"normalization_rule_name": "nmt_nfkc_cf"},
    "identity": {"normalization_rule_name": "identity", "remove_extra_whitespaces": False},
    "no prefix": {"add_dummy_prefix": False},
    "no change": {"add_dummy_prefix": False, "remove_extra_whitespaces": False},
    "short": {"vocab_size": 60, "max_sentencepiece_length": 3},
    "controls": {"control_symbols": ["<ctl>"], "bos_id": -1},
}
#: Tokens of the table that may be a run of unknown characters.
RARE = ["中国", "中", "人", "ß", "ßß", "é", "🙂", "ü", "人人", "Z", "(", ")", "▁中", "中国人", "12", "▁haus"]
PARTS = [*RARE, "▁", ">>fra<<", ">>x<<", "<<", ">>", "__en__", "__fr__", "É"]


@lru_cache
def model(name: str, coverage: float, kind: str = "unigram") -> bytes:
    options = {"vocab_size": 90, "model_type": kind, **MODELS[name]}
    options |= {"hard_vocab_limit": kind != "unigram"} | ({} if kind == "unigram" else {"vocab_size": 45})
    return trained(WORDS * 9, character_coverage=coverage, **options)


def draw(rng: random.Random, name: str) -> dict[str, Any]:
    """Draw the files of a folder: a vocab.json with some of the pieces of a model, and other tokens."""
    kind = "char" if name == "SpeechT5" else rng.choice(["unigram", "unigram", "bpe", "bpe", "char"])
    source = model(rng.choice([*MODELS]), rng.choice([0.98, 0.99, 1.0]), kind)
    processor = sentencepiece.SentencePieceProcessor(model_proto=source)
    share = rng.choice([0.9, 1.0])
    pieces = [processor.IdToPiece(i) for i in range(3, processor.GetPieceSize()) if rng.random() < share]
    tokens = [*pieces, *(token for token in RARE if rng.random() < 0.6)]
    if name == "Marian" and rng.random() < 0.7:
        tokens += [">>fra<<", ">>deu<<"]
    named = ["</s>", "<unk>", *(["<s>", "<pad>"] if name != "Marian" or rng.random() < 0.3 else [])]
    tokens = [*dict.fromkeys(token for token in tokens if token not in named)]
    rng.shuffle(tokens)
    tokens = named + tokens if rng.random() < 0.5 else tokens + named
    vocab = {token: i for i, token in enumerate(tokens)}
    config: dict[str, Any] = {"tokenizer_class": f"{name}Tokenizer"}
    files: dict[str, Any] = {"vocab.json": vocab, "tokenizer_config.json": config}
    n_languages = 0
    for key, value in {"pad_token": "</s>", "mask_token": "<x>", "additional_special_tokens": ["<y>"]}.items():
        if rng.random() < (0.03 if name in ("M2M100", "PLBart") else 0.2):
            config[key] = value
    if name in ("BertGeneration", "SpeechT5"):
        del files["vocab.json"]
        pieces = [processor.IdToPiece(i) for i in range(processor.GetPieceSize())]
        if rng.random() < 0.4:
            files["added_tokens.json"] = {"<mask>": len(pieces), "<new>": len(pieces) + 1}
        files["spm_char.model" if name == "SpeechT5" else "spiece.model"] = source
        return files | decoder(rng, config, {piece: i for i, piece in enumerate(pieces)}, 0)
    if name == "Marian":
        return files | {"source.spm": source, "target.spm": model("plain", 0.98)} | decoder(rng, config, vocab, 0)
    if name == "PLBart":
        return plbart(rng, source, config)
    files["sentencepiece.bpe.model"] = source
    if name == "Bartpho":
        return files | dictionary(rng, files.pop("vocab.json"), config)
    if name == "M2M100":
        codes = rng.choice(["m2m100", "m2m100", "wmt21"])
        languages = [f"__{code}__" for code in FAIRSEQ_LANGUAGE_CODES[codes]]
        n_languages = len(languages)
        config |= {"language_codes": codes, "src_lang": rng.choice(["de", "en", None])}
        if rng.random() < 0.7:
            files["special_tokens_map.json"] = {"additional_special_tokens": languages, "eos_token": "</s>"}
    return files | decoder(rng, config, vocab, n_languages)


def plbart(rng: random.Random, source: bytes, config: dict[str, Any]) -> dict[str, Any]:
    """Draw languages, and tokens in other files. added_tokens_decoder often has the ids of a saved folder."""
    files: dict[str, Any] = {"sentencepiece.bpe.model": source, "tokenizer_config.json": config}
    name = rng.choice([*PLBART_CODES])
    codes = PLBART_CODES[name]
    options = {
        "src_lang": rng.choice([*codes, "en_XX", "java"]),
        "tgt_lang": "python",
        "clean_up_tokenization_spaces": rng.random() < 0.5,
        "mask_token": None,
    }
    config |= {key: value for key, value in options.items() if rng.random() < (0.1 if value is None else 0.7)}
    if name != "base" or rng.random() < 0.5:
        config["language_codes"] = name
    own = ["<s>", "<pad>", "</s>", "<unk>", *codes, "<mask>"]
    last = sentencepiece.SentencePieceProcessor(model_proto=source).GetPieceSize() + len(own) - 3
    last -= len(codes) > 3  # whose mask token has no id of its own
    places = [*range(4), *range(last - len(codes) - (len(codes) == 3), last)]
    listed = dict(zip(own, places, strict=False)) if rng.random() < 0.5 and "mask_token" not in config else {}
    listed |= {"<new>": last, "<y>": last + 1}
    extra = rng.choice([codes, codes[:2] if len(listed) == 2 else codes, [*codes, "<new>", "<y>"]])
    kind = rng.randrange(6)
    if kind < 2:
        config["added_tokens_decoder"] = {
            str(i): {"content": token, "special": i < last, "lstrip": token == "<mask>"}
            for token, i in listed.items()
        }
    elif kind == 2:
        files["added_tokens.json"] = listed
    elif kind == 3:
        files["special_tokens_map.json"] = {"additional_special_tokens": codes, "bos_token": "<s>"}
    if "<new>" not in extra or kind < 3:
        config[rng.choice(["additional_special_tokens", "extra_special_tokens", "unknown"])] = extra
    return files


def dictionary(rng: random.Random, vocab: dict[str, int], config: dict[str, Any]) -> dict[str, Any]:
    """Draw a dict.txt with the tokens of a vocabulary, and tokens in other files."""
    mask = config.get("mask_token", "<mask>")
    first = [*dict.fromkeys(("<s>", config.get("pad_token", "<pad>"), "</s>", "<unk>"))]
    tokens = [token for token in vocab if token not in first and (token != "<pad>" or rng.random() < 0.5)]
    tokens += [mask] if rng.random() < 0.3 else []
    tokens += ["<y>"] if "additional_special_tokens" in config and rng.random() < 0.7 else []
    end, files = rng.choice(["\n", "\r\n", "\r"]), dict[str, Any]()
    files["dict.txt"] = (end.join(f"{token} {rng.randint(1, 9)}" for token in tokens) + end).encode()
    if rng.random() < 0.2:
        files["special_tokens_map.json"] = {"mask_token": {"content": mask, "lstrip": True}}
    rows = [*dict.fromkeys([*first, *tokens, mask])]
    return files | decoder(rng, config, {token: i for i, token in enumerate(rows)}, 0)


def decoder(rng: random.Random, config: dict[str, Any], vocab: dict[str, int], n: int) -> dict[str, Any]:
    """Give some folders an added_tokens_decoder; return no more files."""
    if rng.random() < 0.3:
        new, end = (
            {"content": content, **{flag: rng.random() < 0.4 for flag in ("special", "lstrip", "rstrip")}}
            for content in ("<new>", "</s>")
        )
        config["added_tokens_decoder"] = {str(vocab["</s>"]): end, str(len(vocab) + n): new}
    return {}


@pytest.mark.filterwarnings("ignore:Recommended")  # sacremoses, which transformers 5 does not call
@pytest.mark.parametrize("name", sorted(table_folders.CLASSES.keys() - {"Siglip"}))
def test_random_folders_have_the_ids_of_transformers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    refused = (
        "of a language must have",
        "dict.txt lacks the token",
        "the first pieces must be",
        "but is not a special",
    )
    check_random_folders(partial(draw, name=name), PARTS, name=name, rounds=(12, 400), refused=refused)
