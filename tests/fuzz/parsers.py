"""Fuzz targets of all that reads files: a file is refused with a documented error, or works and is saved."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import struct
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import fastbpe
from fastbpe import FormatError, PieceCounts, SequenceTokenizer, StoredIds, Tokenizer, VocabularyError
from fastbpe.corpus.json_documents import Lines
from fastbpe.corpus.source_kinds import field_of
from fastbpe.formats.charsmap import Charsmap
from fastbpe.id_files.verifying import verify_ids
from fastbpe.minbpe import RegexTokenizer
from fastbpe.normalization.precompiled import checked_charsmap
from fastbpe.sentencepiece import SentencePieceProcessor

TEXT = "The cat's naïve 漢字,  and\n\n1234 <s>ab</s> \u0301\u200d😀 ﬁ\u3000½!"
MAX_TOKENS = 4096  # larger vocabularies are only loaded: a run tries more small ones
SEPARATOR = b"\n--\n"  # between the files of a target that reads several

_CONTAINER = re.compile(rb"fastbpe [a-z]+ v1 header=[0-9a-f]{8} crc=")


@contextlib.contextmanager
def folder(**files: bytes) -> Iterator[Path]:
    """Yield a folder with these files; two underscores in a name stand for a dot."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        for file, data in files.items():
            Path(name, file.replace("__", ".")).write_bytes(data)
        yield Path(name)


def parts(data: bytes, n: int) -> list[bytes]:
    """Cut the input at the first n - 1 separators; missing files are empty."""
    found = data.split(SEPARATOR, n - 1)
    return found + [b""] * (n - len(found))


def resealed(data: bytes) -> bytes:
    """Give a file of the container a valid checksum, so that the reader gets past the checksum."""
    match = _CONTAINER.match(data)
    if match is None or len(data) < 64:
        return data
    at = match.end()
    crc = zlib.crc32(data[at + 8 :], zlib.crc32(data[:at]))
    return data[:at] + b"%08x" % crc + data[at + 8 :]


def use(tokenizer: Tokenizer) -> None:
    """Call a loaded tokenizer, save it and load it again: it must stay the same."""
    if tokenizer.vocab_size > MAX_TOKENS:
        return
    try:
        ids = tokenizer.encode_ordinary(TEXT)
    except VocabularyError:  # a character has no token, and the model lacks an unknown token, as in tokenizers
        return
    text = tokenizer.decode(ids)
    if tokenizer.is_lossless(TEXT):
        assert text == TEXT, (text, TEXT)
    assert tokenizer.count(TEXT, disallowed_special=()) == len(tokenizer.encode(TEXT, disallowed_special=()))
    with folder() as place:
        tokenizer.save(place / "again.fbpe")
        again = fastbpe.load(place / "again.fbpe")
        assert again == tokenizer, "the saved tokenizer is another one"
        assert again.encode_ordinary(TEXT) == ids, "the saved tokenizer gives other ids"


def load(data: bytes, pattern: str | None = None) -> None:
    """Load bytes as a vocabulary of any format."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tokenizer = fastbpe.load(data, pattern=pattern)
        except FormatError:
            return
        if isinstance(tokenizer, Tokenizer):
            use(tokenizer)


def tiktoken(data: bytes) -> None:
    """Read ranks in lines of base64, with and without the lines of the single bytes."""
    load(data, "gpt2")
    load(ALL_BYTES + data, "gpt2")


def huggingface(data: bytes) -> None:
    """Read a tokenizer.json."""
    load(data)


def gpt2(data: bytes) -> None:
    """Read GPT-2's vocab.json and merges.txt."""
    vocab, merges = parts(data, 2)
    _load_folder(vocab__json=vocab, merges__txt=merges)


def model_folder(data: bytes) -> None:
    """Read a model's folder: a tokenizer.json with the files that transformers reads beside it, or a vocab.txt."""
    document, config, special, added, vocab = parts(data, 5)
    files = {"tokenizer__json": document, "tokenizer_config__json": config, "special_tokens_map__json": special}
    files |= {"added_tokens__json": added, "vocab__txt": vocab}
    _load_folder(**{name: content for name, content in files.items() if content})


def _load_folder(**files: bytes) -> None:
    with folder(**files) as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tokenizer = fastbpe.load(place, pattern="gpt2")
        except (FormatError, FileNotFoundError):  # the second: the folder holds no vocabulary
            return
        use(tokenizer)


def sentencepiece(data: bytes) -> None:
    """Read a .model, by `load` and by the drop-in."""
    load(data)
    if not data:  # means that there is no model
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            processor = SentencePieceProcessor(model_proto=data)
        except RuntimeError:  # documented: ModelError
            return
        if processor.vocab_size() <= MAX_TOKENS:
            processor.decode(processor.encode(TEXT))
            processor.encode(TEXT, out_type="offset_mapping")


def native(data: bytes) -> None:
    """Read a .fbpe file whose checksum holds."""
    load(resealed(data))


def counts(data: bytes) -> None:
    """Read a .pieces file whose checksum holds; write it, and read the same."""
    with folder(a__pieces=resealed(data)) as place:
        try:
            found = PieceCounts.load(place / "a.pieces")
        except FormatError:
            return
        found.save(place / "b.pieces")
        again = PieceCounts.load(place / "b.pieces")
        assert dict(again) == dict(found), "the saved counts are others"


def sequences(data: bytes) -> None:
    """Read a file of a SequenceTokenizer, and one of an id map."""
    sealed = resealed(data)
    with contextlib.suppress(FormatError):
        tokenizer = SequenceTokenizer.load(sealed)
        symbols = [*range(min(tokenizer.base_size, 40))]
        assert tokenizer.decode(tokenizer.encode(symbols)) == symbols
    with contextlib.suppress(FormatError), folder(a__ids=sealed) as place:
        fastbpe.IdMap.load(place / "a.ids")


def minbpe(data: bytes) -> None:
    """Read a minbpe model, by `load` and by the drop-in."""
    load(data)
    with folder(a__model=data) as place, contextlib.suppress(ValueError, AssertionError):
        tokenizer = RegexTokenizer()
        tokenizer.load(str(place / "a.model"))
        tokenizer.decode(tokenizer.encode_ordinary("abab cat"))


def js_tiktoken(data: bytes) -> None:
    """Read the ranks of a port of tiktoken to JavaScript."""
    load(data)


def tekken(data: bytes) -> None:
    """Read a tekken.json."""
    load(data)


def gguf(data: bytes) -> None:
    """Read the vocabulary in a GGUF file."""
    load(data)


def jsonl(data: bytes) -> None:
    """Read texts from lines of JSON: the same as the standard library finds."""
    for field in ("text", "a.b"):
        skipped: list[FormatError] = []
        found = list(Lines(lambda: data, len(data), "f", field, n_lines=int, skip=skipped.append).texts())
        wanted = []
        for line in data.split(b"\n"):
            with contextlib.suppress(ValueError, RecursionError):
                record = json.loads(line.removeprefix(b"\xef\xbb\xbf").decode())
                text = field_of(record, field) if isinstance(record, dict) else None
                if isinstance(text, str):
                    wanted.append(text)
        assert [_text(one) for one in found] == [_text(one) for one in wanted], (found, wanted)


def _text(document: object) -> bytes:
    return document.encode("utf-8", "surrogatepass") if isinstance(document, str) else bytes(document)  # type: ignore[call-overload]


def charsmap(data: bytes) -> None:
    """Read a charsmap; a text that passes the checks is normalized within its tables."""
    try:
        rules = Charsmap(checked_charsmap(data))
    except FormatError:
        return
    for at in range(len(TEXT)):
        rules.shortest(TEXT[at:])
    model = _MODEL.replace(_RULES, b"\x12" + _varint(len(data)) + data)
    load(_whole_model(model))


def _varint(n: int) -> bytes:
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes([*out, n])


def _field(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


def _whole_model(normalizer: bytes) -> bytes:
    """Return a sentencepiece model of a few pieces with this normalizer."""
    pieces = [("<unk>", 2), ("a", 1), ("b", 1), ("\u2581", 1), ("ab", 1)]
    found = b"".join(
        _field(1, _field(1, text.encode()) + b"\x15" + struct.pack("<f", -i) + b"\x18" + bytes([kind]))
        for i, (text, kind) in enumerate(pieces)
    )
    return found + _field(2, b"\x18\x02") + _field(3, normalizer)


_RULES = b"RULES"
_MODEL = _field(1, b"own") + _RULES


def index(data: bytes) -> None:
    """Read Megatron's .idx beside a .bin of the size that it should have, and both headers of .bin and .npy."""
    ids, header = struct.pack("<40H", *range(40)), data
    with folder(a__bin=ids, a__idx=header, b__bin=header + ids, c__npy=header + ids) as place:
        for name in ("a.bin", "b.bin", "c.npy"):
            _read_ids(place / name)


def manifest(data: bytes) -> None:
    """Read the JSON of an id file, and the manifest of a shard."""
    about, shard, offsets = parts(data, 3)
    name = "a-00000-of-00001.bin"
    files = {"": struct.pack("<40H", *range(40)), ".json": about, ".manifest.json": shard}
    files[".offsets"] = offsets or struct.pack("<2q", 0, 40)
    with folder() as place:
        for ending, content in files.items():
            (place / (name + ending)).write_bytes(content)
        _read_ids(place)
        _read_ids(place / name)


def _read_ids(path: Path) -> None:
    try:
        stored: StoredIds = fastbpe.open_ids(path)
        for document in range(min(len(stored), 10)):
            len(stored[document])
        verify_ids(path)
    except (FormatError, FileNotFoundError):
        pass
    except ValueError as error:
        if "dtype=" not in str(error):  # documented: nothing says the type of the ids
            raise


ALL_BYTES = b"".join(base64.b64encode(bytes([i])) + b" %d\n" % i for i in range(256))

TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        *(tiktoken, huggingface, gpt2, model_folder, sentencepiece, native, counts, sequences, minbpe, tekken),
        *(js_tiktoken, gguf, jsonl, charsmap, index, manifest),
    )
}
