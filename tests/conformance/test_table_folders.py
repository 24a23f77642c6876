"""Folders of BARTpho, M2M100, Marian, Speech2Text and SpeechT5: the ids and texts are those of AutoTokenizer."""

from __future__ import annotations

import io
import random
import tempfile
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")
pytest.importorskip("sentencepiece")

import sentencepiece
import transformers
from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES

import fastbpe
from fastbpe import FormatError
from fastbpe.formats import table_folders
from helpers import folder_grid
from helpers.sampling import SEED, n_rounds

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
#: Of errors for folders in which two tokens would have one id, or a token an id far behind the others.
REFUSED = ("would share the id", "of a language must have", "dict.txt lacks the token")
PARTS = [*RARE, "the cat", "The ", "lowest", " ", "  ", "(on", "12,3", "▁", "</s>", "<unk>", "<pad>", "<s>"]
PARTS += [
    ">>fra<<",
    ">>x<<",
    "<<",
    ">>",
    "__en__",
    "__fr__",
    "<ctl>",
    "Zürich",
    "ﬁ",
    "\n\t",
    "<x>",
    "<new>",
    "<mask>",
    "\u200b",
    "É",
]


@lru_cache
def model(name: str, coverage: float, kind: str = "unigram") -> bytes:
    made = io.BytesIO()
    options = {"vocab_size": 90, "minloglevel": 2, "model_type": kind, **MODELS[name]}
    options |= {"hard_vocab_limit": False} if kind == "unigram" else {"vocab_size": 45}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(WORDS * 9), model_writer=made, character_coverage=coverage, **options
    )
    return made.getvalue()


def draw(rng: random.Random, name: str) -> dict[str, Any]:
    """Draw the files of a folder: a vocab.json with some of the pieces of a model, and other tokens."""
    kind = "char" if name == "SpeechT5" else "unigram"
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
        if rng.random() < (0.03 if name == "M2M100" else 0.2):
            config[key] = value
    if name == "SpeechT5":
        del files["vocab.json"]
        pieces = [processor.IdToPiece(i) for i in range(processor.GetPieceSize())]
        if rng.random() < 0.4:
            files["added_tokens.json"] = {"<mask>": len(pieces), "<new>": len(pieces) + 1}
        files["spm_char.model"] = source
        return files | decoder(rng, config, {piece: i for i, piece in enumerate(pieces)}, 0)
    if name == "Marian":
        return files | {"source.spm": source, "target.spm": model("plain", 0.98)} | decoder(rng, config, vocab, 0)
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
    if rng.random() < 0.15:
        new = {"content": "<new>", "special": rng.random() < 0.5}
        end = {"content": "</s>", "special": True, "normalized": False}
        config["added_tokens_decoder"] = {str(vocab["</s>"]): end, str(len(vocab) + n): new}
    return {}


def difference(ours: Any, theirs: Any, rng: random.Random) -> str:
    """Say how two tokenizers differ; "": in nothing."""
    if type(theirs).__name__ != "M2M100Tokenizer" and ours.n_vocab != len(theirs):  # which may leave out languages
        return f"{ours.n_vocab} tokens, not {len(theirs)}"
    texts = ["", "the cat", "中国", "ßß", *("".join(rng.choices(PARTS, k=rng.randint(1, 9))) for _ in range(30))]
    for text in texts:
        ids = theirs.encode(text, add_special_tokens=False)
        if (told := ours.encode(text, allowed_special="all")) != ids:
            return f"{text!r} is {told}, not {ids}"
        if ours.encode_with_offsets(text, allowed_special="all")[0] != ids:
            return f"{text!r} has other ids with offsets"
        if ours.encode(text, allowed_special="all", with_template=True) != theirs.encode(text):
            return f"{text!r} has other ids with the template"
        plain = theirs.convert_tokens_to_ids(theirs._tokenize(text))
        if all(token.special for token in ours.added_tokens) and ours.encode_ordinary(text) != plain:
            return f"{text!r} is {ours.encode_ordinary(text)} as ordinary text, not {plain}"
        for listed in (ids, rng.choices(range(ours.n_vocab), k=rng.randint(0, 8))):
            for skip in (True, False):
                told = ours.decode(listed, skip_special_tokens=skip)
                decoded = theirs.decode(listed, skip_special_tokens=skip, clean_up_tokenization_spaces=False)
                if told != decoded:
                    return f"{listed} decode to {told!r}, not {decoded!r}, skipping: {skip}"
    pair = ours.encode_with_template("the", "cat")
    return "" if pair == theirs.encode("the", "cat") else "two texts have other ids with the template"


@pytest.mark.filterwarnings("ignore:Recommended")  # sacremoses, which transformers 5 does not call
@pytest.mark.parametrize("name", sorted(table_folders.CLASSES.keys() - {"Siglip"}))
def test_random_folders_have_the_ids_of_transformers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    counts: Counter[str] = Counter()
    rounds = n_rounds(12, 400)
    for number in range(2 * rounds + 20):
        if counts["equal"] == rounds:
            break
        seed = f"{SEED} {name} {number}"
        rng = random.Random(seed)
        files = draw(rng, name)
        with tempfile.TemporaryDirectory() as folder:
            folder_grid.write(files, Path(folder))
            theirs = transformers.AutoTokenizer.from_pretrained(folder)
            try:
                ours = fastbpe.load(folder)
            except FormatError as error:
                if not any(said in str(error) for said in REFUSED):
                    raise
                counts["refused"] += 1  # two tokens would have one id
                continue
            found = difference(ours, theirs, rng)
        assert not found, f"{seed}: {found}: {files['tokenizer_config.json']} {files.get('vocab.json')}"
        counts["equal"] += 1
    print(f"{name}: {dict(counts)}")
    assert counts["equal"] == rounds
