"""Seeds of the fuzz targets: tiny files in every format, made by fastbpe.

`python tests/fuzz/seeds.py FOLDER` writes them.
"""

from __future__ import annotations

import base64
import json
import struct
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import fastbpe
from fastbpe import IdMap, PieceCounts, SequenceTokenizer, Tokenizer
from fastbpe.normalization.sentencepiece_rules import compile_rules
from fuzz.parsers import SEPARATOR
from fuzz.twins import TARGETS as TWINS
from helpers import tokenizer_json
from helpers.hard_patterns import TRICKY

WORDS = ["low lower lowest", "the cat sat on the mat", "new newer 12 naïve 漢字"]
UTF8 = [
    "The cat's naïve 漢字,  and\n\n1234 😀",
    "don't WON'T 'S\u017f \u0301\u200d",
    "x" * 70 + " 9٣²Ⅷ\r\n\t!",
    "",
]


def _files(tokenizer: Tokenizer | SequenceTokenizer, *formats: str) -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for format in formats:
            path = Path(folder, "tokenizer.json" if format == "huggingface" else f"{format}.out")
            tokenizer.export(path, format=format)  # type: ignore[arg-type]
            # GPT-2's in the order that the target reads: vocab.json, then merges.txt.
            files = sorted(path.iterdir(), reverse=True) if path.is_dir() else [path]
            found.append(SEPARATOR.join(file.read_bytes() for file in files))
    return found


def _saved(thing: object) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        thing.save(Path(folder, "a"))  # type: ignore[attr-defined]
        return Path(folder, "a").read_bytes()


def _ids(tokenizer: Tokenizer) -> bytes:
    """Return the JSON, the manifest and the offsets of a shard of 40 ids."""
    with tempfile.TemporaryDirectory() as folder:
        fastbpe.write_shard(tokenizer, ["abcdefghij"] * 4, Path(folder, "a.bin"), (0, 1))
        name = str(Path(folder, "a-00000-of-00001.bin"))
        return SEPARATOR.join(Path(name + end).read_bytes() for end in (".json", ".manifest.json", ".offsets"))


def _index(old: bool = False) -> bytes:
    """Return Megatron's index of two documents with 40 ids of uint16."""
    if old:
        return struct.pack("<8s14q", b"TNTIDX\0\0", 1, 8, 2, 2, 2, 3, 0, 1, 2, 0, 20, 40, 20, 20)
    tables = struct.pack("<2i2q3q", 20, 20, 0, 40, 0, 1, 2)
    return b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, 2, 3) + tables


def make() -> dict[str, list[bytes]]:
    """Return the seeds of each target."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learned = fastbpe.train(WORDS, vocab_size=262, special_tokens=["<s>"], pattern="cl100k", progress=False)
        plain = Tokenizer.from_merges([(97, 98), (256, 99)], pattern="gpt2")
        options = {
            "hard_vocab_limit": False,
            "normalization_rule_name": "identity",
            "remove_extra_whitespaces": False,
            "byte_fallback": True,
            "progress": False,
        }
        points = fastbpe.train(WORDS, vocab_size=300, mode="codepoint", **options)
        scored = fastbpe.train(WORDS, vocab_size=300, mode="unigram", **options)
        numbers = SequenceTokenizer.from_merges([(1, 2), (10, 3)], base_size=10)
        documents = [json.dumps(one).encode() for one in _documents()]
        config = b'{"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": {"content": "<s>"}}'
        bert = b"[UNK]\n[CLS]\n[SEP]\n[PAD]\n[MASK]\nthe\n##cat\na\n"
        counted = [fastbpe.count_pieces(iter(WORDS), pattern="gpt2", progress=False)]
        return {
            "tiktoken": [*_files(plain, "tiktoken"), base64.b64encode(b"ab") + b" 256\n"],
            "huggingface": [*_files(learned, "huggingface"), *_files(points, "huggingface"), *documents],
            "gpt2": _files(plain, "gpt2"),
            "model_folder": [
                SEPARATOR.join([documents[0], config, b'{"eos_token": "a"}', b'{"<new>": 300}', b""]),
                SEPARATOR.join([b"", b'{"tokenizer_class": "BertTokenizer"}', b"", b"", bert]),
            ],
            "sentencepiece": [*_files(points, "sentencepiece"), *_files(scored, "sentencepiece")],
            "native": [_saved(one) for one in (learned, points, scored)],
            "counts": [_saved(one) for one in (*counted, PieceCounts({"low": 5}))],
            "sequences": [_saved(numbers), _saved(IdMap(4, [0, -1, 2], {1: [0, 3]}))],
            "minbpe": _files(plain, "minbpe"),
            "js_tiktoken": [
                b'{"pat_str":"a|.","special_tokens":{"<s>":9},"bpe_ranks":"! 0 YQ== Yg==\\n! 4 YWI="}'
            ],
            "tekken": _files(plain, "tekken"),
            "gguf": [*_files(plain, "gguf"), *_files(points, "gguf")],
            "jsonl": [
                b'{"text": "a\\u00e9\\n\\ud83d\\ude00"}\n\n{"a": {"b": "c"}, "n": [1.5e3, null]}\n',
                b'{"text":"\\ud800"}',
            ],
            "charsmap": [_small_charsmap()],
            "index": [_index(), _index(old=True), struct.pack("<256i", 20240520, 1, 40, *[0] * 253), _npy()],
            "manifest": [_ids(Tokenizer.from_merges([], pattern=None))],
            "regex": [pattern.encode() for pattern in [*TRICKY, r"\p{L}+|\s+(?!\S)", "(?i:'s|'t)|[^a-c]{2,3}"]],
            "training": [b"abababcd\nabab", b"low\nlower\nlowest\n", b"aaaaaaa\nbbbb"],
        } | {name: _pieces() for name in TWINS if name not in ("regex", "training")}


def _documents() -> list[object]:
    pieces = {"<unk>": 0, "a": 1, "b": 2, "ab": 3, tokenizer_json.METASPACE: 4}
    whole = tokenizer_json.small()
    steps = [{"type": kind} for kind in ("NFC", "Lowercase", "StripAccents", "NFKD")]
    word_piece = {"type": "WordPiece", "unk_token": "<unk>", "continuing_subword_prefix": "##"}
    return [
        whole,
        tokenizer_json.llama_document(pieces, ["a b"]),
        whole
        | {"normalizer": {"type": "Sequence", "normalizers": steps}, "post_processor": tokenizer_json.TEMPLATE},
        {"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.5], ["ab", -2]]}},
        {"model": word_piece | {"vocab": {"<unk>": 0, "a": 1, "##b": 2}, "max_input_chars_per_word": 9}},
        {"model": {"type": "WordLevel", "unk_token": "<unk>", "vocab": {"<unk>": 0, "ab": 1}}},
    ]


def _small_charsmap() -> bytes:
    """Return the rules of two characters, compiled as for a model."""
    return compile_rules({"\ufb01": "fi", "\u3000": " ", "½": "1/2"})


def _npy() -> bytes:
    header = b"{'descr': '<u2', 'fortran_order': False, 'shape': (40,), }".ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


def _pieces() -> list[bytes]:
    vocabulary = b"ab\x80cbc\x80\x80aa\x80\x81"
    texts = [text.encode() for text in UTF8] + [
        b"abcabcaaabca",
        b"\x80\xff\xc3",
        b"a\xf0\x9f",
        bytes(range(0, 256, 5)),
    ]
    return [*texts, *(vocabulary + SEPARATOR + text for text in texts)]


def write(folder: Path) -> None:
    """Write the seeds of each target into a folder of its name."""
    for target, seeds in make().items():
        (folder / target).mkdir(parents=True, exist_ok=True)
        for i, data in enumerate(seeds):
            (folder / target / f"seed{i}").write_bytes(data)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
