"""Recognise files that are often passed by mistake in place of a vocabulary.

The first bytes show their kind; in a short JSON file, the keys do.
"""

from __future__ import annotations

import re

from fastbpe.errors import FormatError
from fastbpe.model import Buffer

_HEAD_BYTES = 4096  # bytes at the start of a file that are examined
_MAX_MESSAGE_BYTES = 1 << 16  # of a JSON file that is parsed to find its kind
_POINTER = b"version https://git-lfs"
_OID = rb"(?m)^oid sha256:([0-9a-f]{64})$"
_SIZE = rb"(?m)^size ([0-9]+)$"
_MAX_SAFETENSORS_HEADER = 100_000_000  # bytes; the format's own limit
# First bytes → kind of file, way out.
_MAGIC = (
    (b"\x1f\x8b", "compressed by gzip", "decompress it first: gunzip"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", "decompress it first: zstd -d"),
    (b"\x93NUMPY", "a numpy array", "pass the file of the tokenizer"),
    (b"fastbpe pieces ", "counts of pieces (count_pieces)", "train learns a vocabulary from them"),
)
_OF_BOUNDLESS = b"word v1\n"
_WEIGHTS = "it contains the weights of a model; its vocabulary is another file of its folder: pass that folder"
_PICKLED = (
    "fastbpe unpickles nothing, since a pickle can run any program. If you trust the file, read it in Python as "
    "encoding = pickle.load(file), with tiktoken installed or after fastbpe.install('tiktoken'), and save "
    "Tokenizer.from_ranks(encoding._mergeable_ranks, pattern=encoding._pat_str, "
    "special_tokens=encoding._special_tokens).save('tokenizer.fbpe')"
)
_CODES = re.compile(rb"(\S+ \S+ [0-9]+\r?\n)+")  # two symbols and a count a line
_NUMBERED = (
    "it has no ids; write its tokens into vocab.txt, one per line with its count, as 'lo@@ 12' (fairseq's "
    "dict.txt is such a file), name the codes bpe.codes, and write a tokenizer_config.json beside them, as "
    '{"tokenizer_class": "PhobertTokenizer"}, then load the folder'
)
_MESSAGES = ("error", "message", "detail")  # keys in the JSON body of an error answer


def check(data: Buffer, where: str) -> None:
    """Raise FormatError, with the kind of file and a way out, if the data cannot be a vocabulary."""
    head = bytes(data[:_HEAD_BYTES])
    if head.startswith(_OF_BOUNDLESS):
        raise FormatError(
            f"{where}: a model of the first version of BoundlessBPE ('word v1'). fastbpe runs only the second "
            "version: the first joins words while it still merges them, and may delete tokens. Load a model of "
            'the second version, or train one: train(superwords="boundless")'
        )
    found = _name(head, data)
    if found is not None:
        kind, way_out = found
        raise FormatError(f"{where}: {kind}, not a vocabulary: {way_out}")


def _name(head: bytes, data: Buffer) -> tuple[str, str] | None:
    """Return (kind of file, way out), or None."""
    if not head.strip():
        return "an empty file", "it was not copied or downloaded to its end; fetch it again"
    if head.startswith(_POINTER):
        oid, size = re.search(_OID, head), re.search(_SIZE, head)
        file = f"{int(size[1]):,} bytes" if size else "the file"
        named = f" with the SHA-256 {oid[1].decode()}" if oid else ""
        return "a Git LFS pointer", f"it stands for {file}{named}; run `git lfs pull` in its repository"
    for magic, kind, way_out in _MAGIC:
        if head.startswith(magic):
            return kind, way_out
    if (codes := _CODES.match(head)) and b"</w> " in codes[0]:
        return "codes of fastBPE", _NUMBERED
    return _name_weights(head, data) or _name_answer(head, data)


def _name_weights(head: bytes, data: Buffer) -> tuple[str, str] | None:
    """Recognise a file of model weights, a pickle or an archive; None: anything else."""
    length = int.from_bytes(head[:8], "little")
    if head[8:10] == b'{"' and length <= min(len(data) - 8, _MAX_SAFETENSORS_HEADER):
        return "a safetensors file", _WEIGHTS
    if head.startswith(b"PK\x03\x04"):
        if b"/data.pkl" in head or b"/version" in head:
            return "a PyTorch file", _WEIGHTS
        return "a zip archive", "unpack it, and pass the vocabulary in it"
    if head.startswith((b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")):
        if b"tiktoken" in head:
            return "a pickled Encoding of tiktoken", _PICKLED
        return "a pickle", f"if it is an older PyTorch file, {_WEIGHTS}"
    return None


def _name_answer(head: bytes, data: Buffer) -> tuple[str, str] | None:
    """Recognise the response of a web server in place of the file, or a model's settings; None: anything else."""
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text[:1] == b"<":
        start = text[:64].lower()
        if start.startswith((b"<!doctype html", b"<html", b"<head")):
            way_out = (
                "the address leads to a page, or asked for a login; download the file itself (/resolve/ on "
                "huggingface.co, /raw/ on github.com)"
            )
            return "an HTML page", way_out
        if start.startswith((b"<?xml", b"<error")):
            shown = " ".join(text[:200].decode(errors="replace").split())
            return "an XML message", f"a server answered {shown!r}; download the file again"
    if text[:1] != b"{" or len(data) > _MAX_MESSAGE_BYTES:
        return None
    try:
        import json  # here: few files come this far

        value = json.loads(bytes(data))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    for key in _MESSAGES:  # in a vocabulary, such a key is a token, and its value a number
        if isinstance(value.get(key), (str, dict)):
            return "a JSON message", f"a server answered {key}: {value[key]!r:.200}; download the file again"
    if isinstance(value.get("tokenizer_class"), str) or isinstance(value.get("model_type"), str):
        return "a model's settings", "pass tokenizer.json, or the folder of the model"
    return None
