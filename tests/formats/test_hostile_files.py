"""Files with too many entries, nested too deep, or with huge ids: each reader refuses them at once.

FASTBPE_FULL=1 uses five million entries; otherwise it is some thousands, with a lower limit. The other tests of
tests/formats cover small damage.
"""

from __future__ import annotations

import base64
import json
import random
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

import fastbpe
from fastbpe import FormatError
from fastbpe.formats import limits
from fastbpe.formats.minbpe import MAGIC
from fastbpe.formats.sentencepiece.protobuf import bytes_field
from helpers.bounds import within
from helpers.child_processes import HAS_ASAN
from helpers.sampling import FULL
from helpers.tokenizer_json import METASPACE, SHOWN, added, llama_document, small

N = 5_000_000 if FULL else 5_000
LIMIT = limits.MAX_ENTRIES if FULL else 4_000
LONG = 10_000_000 if FULL else 100_000  # digits of a number, bytes of a token
DEEP = 100_000

BYTE_LINES = b"".join(base64.b64encode(bytes([i])) + b" %d\n" % i for i in range(256))
VOCAB = b"{" + b",".join(f'"{SHOWN[i]}":{i}'.encode() for i in range(256) if SHOWN[i] not in '"\\') + b"}"
MERGES = b"#version: 0.2\na b\n"
MINBPE = MAGIC.encode() + b"\n\n"

JS_TIKTOKEN = b'{"pat_str":"a","special_tokens":{},"bpe_ranks":"%s"}'
TEKKEN = (
    b'{"config":{"pattern":"a","num_vocab_tokens":%d,"default_vocab_size":%d,"default_num_special_tokens":0,'
    b'"version":"v3"},"vocab":[{"rank":0,"token_bytes":"AA=="}%%s]}' % (N, N)
)


def lines(make: Callable[[int], bytes]) -> bytes:
    return b"".join([make(i) for i in range(N)])


def piece(text: bytes, kind: int = 1) -> bytes:
    return bytes_field(1, bytes_field(1, text) + b"\x15" + struct.pack("<f", 0.0) + b"\x18" + bytes([kind]))


def gguf(tokens: bytes) -> bytes:
    """Return a file of N tokens with one merge."""
    keys = [
        (b"model", struct.pack("<IQ", 8, 4) + b"gpt2"),
        (b"pre", struct.pack("<IQ", 8, 5) + b"gpt-2"),
        (b"merges", struct.pack("<IIQQ", 9, 8, 1, 3) + b"a b"),
        (b"tokens", struct.pack("<IIQ", 9, 8, N) + tokens),
    ]
    names = [b"tokenizer.ggml." + name for name, _ in keys]
    parts = [struct.pack("<Q", len(name)) + name + value for name, (_, value) in zip(names, keys, strict=True)]
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(keys)) + b"".join(parts)


TRAINER = bytes_field(2, b"\x18\x02")
#: Single files.
ONE: dict[str, Callable[[], bytes]] = {
    "tiktoken: lines": lambda: BYTE_LINES + lines(lambda i: base64.b64encode(b"%08x" % i) + b" %d\n" % (i + 256)),
    "tiktoken: one line again": lambda: BYTE_LINES + b"YWI= 256\n" * N,
    "tiktoken: one token again": lambda: BYTE_LINES + lines(lambda i: b"YWI= %d\n" % (i + 256)),
    "tiktoken: a rank far away": lambda: BYTE_LINES + b"YWI= 4000000000\n",
    "tiktoken: a rank of many digits": lambda: BYTE_LINES + b"YWI= " + b"1" * LONG + b"\n",
    "js_tiktoken: tokens": lambda: (
        JS_TIKTOKEN % (b"! 0" + lines(lambda i: b" " + base64.b64encode(b"%08x" % i)))
    ),
    "js_tiktoken: one row again": lambda: JS_TIKTOKEN % (b"! 0 YWI=\\n" * N),
    "js_tiktoken: a rank of many digits": lambda: JS_TIKTOKEN % (b"! " + b"1" * LONG + b" YWI="),
    "js_tiktoken: nested deep": lambda: JS_TIKTOKEN % (b'","x":' + b"[" * DEEP + b"]" * DEEP + b',"y":"'),
    "tekken: tokens": lambda: TEKKEN % lines(lambda i: b',{"rank":%d,"token_bytes":"YWI="}' % (i + 1)),
    "tekken: one token again": lambda: TEKKEN % (b',{"rank":1,"token_bytes":"YWI="}' * N),
    "tekken: nested deep": lambda: TEKKEN % (b",[" * DEEP + b"]" * DEEP),
    "gguf: tokens": lambda: gguf(lines(lambda i: struct.pack("<Q", 8) + b"%08x" % i)),
    "gguf: one token again": lambda: gguf((struct.pack("<Q", 2) + b"ab") * N),
    "gguf: empty tokens": lambda: gguf(bytes(8) * N),
    "gguf: a long token": lambda: gguf(struct.pack("<Q", LONG) + b"a" * LONG + bytes(8) * (N - 1)),
    "gguf: more tokens than bytes": lambda: gguf(b"")[:-1],
    "minbpe: merges": lambda: MINBPE + b"0\n97 98\n" + lines(lambda i: b"97 %d\n" % (i + 256)),
    "minbpe: one merge again": lambda: MINBPE + b"0\n" + b"97 98\n" * N,
    "minbpe: special tokens": lambda: MINBPE + b"%d\n" % N + lines(lambda i: b"s%d %d\n" % (i, i + 256)),
    "minbpe: more special tokens than lines": lambda: MINBPE + b"999999999\n97 98\n",
    "minbpe: tokens that double": lambda: (
        MINBPE + b"0\n97 97\n" + b"".join(b"%d %d\n" % (i, i) for i in range(256, 400))
    ),
    "minbpe: a merge of itself": lambda: MINBPE + b"0\n97 256\n",
    "minbpe: a merge of what is not a token": lambda: MINBPE + b"0\n97 5000\n",
    "minbpe: an id of many digits": lambda: MINBPE + b"0\n97 " + b"1" * LONG + b"\n",
    "minbpe: a pattern nested deep": lambda: MAGIC.encode() + b"\n" + b"(" * DEEP + b")" * DEEP + b"\n0\n97 98\n",
    "sentencepiece: pieces": lambda: piece(b"<unk>", 2) + lines(lambda i: piece(b"%08x" % i)) + TRAINER,
    "sentencepiece: pieces without scores": lambda: (
        piece(b"<unk>", 2) + lines(lambda i: bytes_field(1, bytes_field(1, b"%08x" % i))) + TRAINER
    ),
    "sentencepiece: fields that are not pieces": lambda: piece(b"<unk>", 2) + b"\x50\x05" * N + TRAINER,
    "sentencepiece: groups": lambda: piece(b"<unk>", 2) + b"\x53\x54" * N + TRAINER,
    "sentencepiece: options in parts": lambda: piece(b"<unk>", 2) + TRAINER * N,
    "sentencepiece: options": lambda: piece(b"<unk>", 2) + bytes_field(2, b"\x18\x02" + b"\x20\x05" * N),
    "sentencepiece: empty pieces": lambda: piece(b"<unk>", 2) + bytes_field(1, b"") * N + TRAINER,
    "sentencepiece: one piece again": lambda: piece(b"<unk>", 2) + piece(b"ab") * N + TRAINER,
    "sentencepiece: groups nested deep": lambda: piece(b"<unk>", 2) + b"\x0b" * DEEP + b"\x0c" * DEEP + TRAINER,
    "sentencepiece: a long piece": lambda: piece(b"<unk>", 2) + piece(b"a" * LONG) + TRAINER,
}  # fmt: skip
#: GPT-2's files: the vocabulary and the merges.
TWO: dict[str, Callable[[], tuple[bytes, bytes]]] = {
    "tokens": lambda: (VOCAB[:-1] + lines(lambda i: b',"%08x":%d' % (i, i + 256)) + b"}", MERGES),
    "merges": lambda: (VOCAB, MERGES * N),
    "nested deep": lambda: (b'{"a":' * DEEP + b"1" + b"}" * DEEP, MERGES),
    "a list nested deep": lambda: (b'{"a":' + b"[" * DEEP + b"]" * DEEP + b"}", MERGES),
    "an id far away": lambda: (VOCAB[:-1] + b',"ab":4000000000}', MERGES),
    "an id again": lambda: (VOCAB[:-1] + b',"ab":5}', MERGES),
    "a merge of what is not a token": lambda: (VOCAB[:-1] + b',"ab":256}', MERGES + b"q zz\n"),
    "a long line": lambda: (VOCAB, MERGES + b"a" * LONG + b" " + b"b" * LONG),
}


def tokenizer_json(llama: bool, **parts: object) -> bytes:
    """Return a tokenizer.json, byte-level or of the Llama kind, with some parts replaced; model__NAME is one of
    the model."""
    pieces = {"<unk>": 0, "a": 1, "b": 2, "ab": 3, METASPACE: 4}
    made = llama_document(pieces, ["a b"]) if llama else small()
    for path, value in parts.items():
        outer, _, inner = path.partition("__")
        if inner:
            made[outer][inner] = value
        else:
            made[outer] = value
    return json.dumps(made).encode()


def nested(llama: bool, key: str, inner: str) -> bytes:
    whole = tokenizer_json(llama, **{key: "HERE"})
    deep = f'{{"type":"Sequence","{inner}":['.encode() * DEEP + b"]}" * DEEP
    return whole.replace(b'"HERE"', deep)


#: tokenizer.json files of either kind.
DOCUMENTS: dict[str, Callable[[bool], bytes]] = {
    "tokens": lambda llama: tokenizer_json(llama, model__vocab={f"{i:08x}": i for i in range(N)}),
    "merges": lambda llama: tokenizer_json(llama, model__merges=["a b"] * N),
    "merges as pairs": lambda llama: tokenizer_json(llama, model__merges=[["a", "b"]] * N),
    "added tokens": lambda llama: tokenizer_json(llama, added_tokens=[added(i, str(i)) for i in range(N)]),
    "added tokens of few keys": lambda llama: tokenizer_json(
        llama, added_tokens=[{"id": i, "content": "a"} for i in range(N // 5)]
    ),
    "normalizers nested deep": lambda llama: nested(llama, "normalizer", "normalizers"),
    "pre-tokenizers nested deep": lambda llama: nested(llama, "pre_tokenizer", "pretokenizers"),
    "post-processors nested deep": lambda llama: nested(llama, "post_processor", "processors"),
    "decoders nested deep": lambda llama: nested(llama, "decoder", "decoders"),
    "an id far away": lambda llama: tokenizer_json(llama, model__vocab={"<unk>": 0, "a": 4_000_000_000}),
    "an id again": lambda llama: tokenizer_json(llama, model__vocab={"<unk>": 0, "a": 1, "b": 1}),
    "a merge of what is not a token": lambda llama: tokenizer_json(llama, model__merges=["a b", "a zz"]),
    "a unigram model without scores": lambda llama: tokenizer_json(
        llama, model={"type": "Unigram", "vocab": ["a"]}
    ),
    "a unigram model of one name": lambda llama: tokenizer_json(
        llama, model={"type": "Unigram", "vocab": {"a": -1}}
    ),
    "a WordPiece model": lambda llama: tokenizer_json(llama, model={"type": "WordPiece", "vocab": {"a": 0}}),
    "a pre-tokenizer nobody knows": lambda llama: tokenizer_json(llama, pre_tokenizer={"type": "Odd"}),
    "a normalizer nobody knows": lambda llama: tokenizer_json(llama, normalizer={"type": "Odd"}),
}


@pytest.mark.parametrize("llama", [False, True], ids=["bytes", "llama"])
@pytest.mark.parametrize("kind", DOCUMENTS)
def test_hostile_tokenizer_json_is_refused(kind: str, llama: bool) -> None:
    data = DOCUMENTS[kind](llama)
    refused(data, len(data), None)


@pytest.mark.parametrize("llama", [False, True], ids=["bytes", "llama"])
def test_unchanged_tokenizer_json_loads(llama: bool) -> None:
    assert fastbpe.load(tokenizer_json(llama)).encode("ab")


@pytest.fixture(autouse=True, scope="module")
def import_readers(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Import the modules that read files: they need more memory than a refused file may take."""
    folder = tmp_path_factory.mktemp("sound")
    (folder / "vocab.json").write_bytes(VOCAB[:-1] + b',"ab":256}')
    (folder / "merges.txt").write_bytes(MERGES)
    fastbpe.load(folder, pattern="gpt2")


@pytest.fixture(autouse=True)
def lower_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_ENTRIES", LIMIT)
    if not FULL:
        monkeypatch.setattr(limits, "MAX_FIELDS", LIMIT)
        monkeypatch.setattr(limits, "MAX_ADDED_TOKENS", LIMIT // 5)


def refused(source: bytes | Path, n_bytes: int, pattern: str | None) -> None:
    """Check that loading raises a FormatError soon, and with no more memory than reading such a file may take."""
    if FULL:
        with within(10), pytest.raises(FormatError):  # takes about a second
            fastbpe.load(source, pattern=pattern)
        return
    tracemalloc.start()
    try:
        with pytest.raises(FormatError):
            fastbpe.load(source, pattern=pattern)
        assert tracemalloc.get_traced_memory()[1] < 60 * n_bytes + (1 << 20)
    finally:
        tracemalloc.stop()


# It takes 256 MB.
_LONG_ONLY = () if FULL else ("minbpe: tokens that double",)


@pytest.mark.parametrize("kind", [kind for kind in ONE if kind not in _LONG_ONLY])
def test_hostile_file_is_refused(kind: str) -> None:
    data = ONE[kind]()
    refused(data, len(data), "gpt2" if kind.startswith("tiktoken") else None)


@pytest.mark.parametrize("kind", TWO)
def test_hostile_gpt2_files_are_refused(kind: str, tmp_path: Path) -> None:
    vocab, merges = TWO[kind]()
    (tmp_path / "vocab.json").write_bytes(vocab)
    (tmp_path / "merges.txt").write_bytes(merges)
    refused(tmp_path, len(vocab) + len(merges), "gpt2")


def test_file_within_the_limit_loads() -> None:
    many = LIMIT - 300 if not FULL else 1000
    data = BYTE_LINES + b"".join(base64.b64encode(b"%08x" % i) + b" %d\n" % (i + 256) for i in range(many))
    assert fastbpe.load(data, pattern="gpt2").vocab_size == 256 + many


def measured(load: str) -> tuple[str, int]:
    """Run a call of fastbpe.load in a child; return its error and the memory in MiB that it took at most."""
    code = f"""
import fastbpe, fastbpe.formats.sentencepiece.model_file, fastbpe.formats.gpt2, fastbpe.formats.tiktoken
peak = lambda: int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) // 1024
before = peak()
try:
    fastbpe.load({load})
except fastbpe.FormatError as error:
    print(peak() - before, error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    mebibytes, _, error = run.stdout.partition(" ")
    return error, int(mebibytes)


def spread(token_id: int, n_tokens: int) -> str:
    return f"{token_id} is far beyond the {n_tokens} tokens of the file: the limit is 266513"


@pytest.mark.skipif(HAS_ASAN, reason="AddressSanitizer has memory of its own")
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_id_far_beyond_the_tokens_is_refused_before_tables_are_made(tmp_path: Path) -> None:
    lines = [base64.b64encode(bytes([i])) + b" %d" % i for i in range(256)]
    path = tmp_path / "sparse.tiktoken"
    path.write_bytes(b"\n".join([*lines, base64.b64encode(b"ab") + b" 10000000"]))
    error, mebibytes = measured(f"{str(path)!r}, pattern='gpt2'")
    assert f"{path}:257: rank {spread(10**7, 257)}" in error
    assert "number the tokens without large gaps" in error
    assert mebibytes < 30
    fastbpe.Tokenizer.from_merges([(97, 98)], pattern="gpt2").export(tmp_path / "folder", format="gpt2")
    vocab = tmp_path / "folder" / "vocab.json"
    vocab.write_text(json.dumps(json.loads(vocab.read_text()) | {"ab": 10**7}))
    error, mebibytes = measured(f"{str(vocab)!r}, pattern='gpt2'")
    assert f"{vocab}: token 'ab': the id {spread(10**7, 257)}" in error
    assert mebibytes < 30


def test_gap_of_some_thousands_of_ids_is_kept(tmp_path: Path) -> None:
    lines = [base64.b64encode(bytes([i])) + b" %d" % i for i in range(256)]
    path = tmp_path / "gaps.tiktoken"
    path.write_bytes(b"\n".join([*lines, base64.b64encode(b"ab") + b" 200000"]))
    assert fastbpe.load(path, pattern="gpt2").encode("ab") == [200000]


@pytest.mark.skipif(HAS_ASAN, reason="AddressSanitizer has memory of its own")
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("name", ["junk.model", "junk.tiktoken"])
def test_junk_is_refused_before_all_of_it_is_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(random.Random(1).randbytes(1 << 16) * 1024)
    error, mebibytes = measured(f"{str(path)!r}, pattern=None")
    assert f"{path}: not a " in error
    assert mebibytes < 30
    path.unlink()
