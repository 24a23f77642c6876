"""JSON that tokenizers refuses: fastbpe refuses it too, with orjson and without it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError
from fastbpe import tokenizers as face

pytest.importorskip("tokenizers")  # a few platforms have no wheel

import tokenizers

WORDS = '{"type":"WordLevel","vocab":{"a":0,"x":1},"unk_token":"x"}'
UNIGRAM = '{"type":"Unigram","unk_id":0,"vocab":[["x",0.0],["a",%s]]}'
BPE = '{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":[["a","b"]]%s}'
PADDING = '"strategy":"BatchLongest","direction":"Right","pad_id":0,"pad_type_id":0,"pad_token"'
#: Members of a tokenizer.json.
DAMAGED = [
    *(f'"model":{UNIGRAM % number}' for number in ("Infinity", "-Infinity", "NaN", "1e999")),
    f'"model":{WORDS},"truncation":{{"max_length":1,"strategy":"OnlyFirst","stride":0,"other":NaN}}',
    *(
        f'"model":{BPE % extra}'
        for extra in (
            r',"unk_token":"\ud800"',
            r',"continuing_subword_prefix":"\ud800"',
            r',"end_of_word_suffix":"\uDC00"',
            ',"unk_token":"\ud800"',
        )
    ),
    *(
        f'"model":{BPE % ""},{part}'
        for part in (
            r'"pre_tokenizer":{"type":"Metaspace","replacement":"\ud800","prepend_scheme":"always","split":true}',
            r'"normalizer":{"type":"Replace","pattern":{"String":"\udc00"},"content":"b"}',
            r'"normalizer":{"type":"Replace","pattern":{"String":"b"},"content":"\udc00"}',
            r'"normalizer":{"type":"Prepend","prepend":"\udc00"}',
            r'"decoder":{"type":"Replace","pattern":{"String":"b"},"content":"\udc00"}',
            r'"decoder":{"type":"WordPiece","prefix":"\ud800","cleanup":true}',
            r'"decoder":{"type":"Fuse","other":"\ud800"}',
            rf'"padding":{{{PADDING}:"\ud800"}}',
        )
    ),
]
#: Contents of a vocab.json.
VOCABULARIES: list[tuple[bytes, str]] = [
    (b'{"a":0,"b":1,"ab":2,"c":Infinity}', "not JSON"),
    (b'{"a":0,"b":1,"ab":2,"c":1e999}', "not JSON|not inf"),
    (rb'{"a":0,"b":1,"ab":2,"\ud800":3}', "not JSON"),
    (b'{"a":0,"b":1,"ab":2,"\xe9":3}', "not JSON"),
    (b'\xef\xbb\xbf{"a":0,"b":1,"ab":2}', "not JSON"),
    (b'{"a":0', "not JSON"),
    (b"[" * 100_000, "deep|depth"),
    (b"[]", "must be a JSON object"),
    (b'{"a":0,"b":1,"ab":2,"c":1.5}', "'c': must be an id"),
    (b'{"a":0,"b":1,"ab":2,"c":-1}', "'c': must be an id"),
]
FOLDERS = [
    ("tokenizer_config.json", r'{"added_tokens_decoder":{"5":{"content":"<\ud800"}}}'),
    ("tokenizer_config.json", r'{"pad_token":"<\ud800"}'),
    ("special_tokens_map.json", r'{"pad_token":"<\ud800"}'),
    ("added_tokens.json", r'{"<\ud800":2}'),
]


@pytest.fixture(params=["orjson", "json"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "json":
        monkeypatch.setitem(sys.modules, "orjson", None)


def refuses(call: Any, *args: Any) -> bool:
    try:
        call(*args)
    except Exception:
        return True
    return False


@pytest.mark.parametrize("members", DAMAGED)
def test_damaged_tokenizer_json_is_refused(members: str, tmp_path: Path) -> None:
    data = f'{{"version":"1.0",{members}}}'.encode("utf-8", "surrogatepass")
    assert refuses(tokenizers.Tokenizer.from_buffer, data)
    with pytest.raises(FormatError, match=r"not JSON|the number is too large"):
        face.Tokenizer.from_buffer(data)
    (tmp_path / "tokenizer.json").write_bytes(data)
    with pytest.raises(FormatError, match=r"not JSON|the number is too large"):
        fastbpe.load(tmp_path)


@pytest.mark.parametrize(
    "data", ["\ufeff{}".encode(), *("{}".encode(code) for code in ("utf-16", "utf-16-le", "utf-32"))]
)
def test_other_encoding_of_a_tokenizer_json_is_refused(data: bytes) -> None:
    assert refuses(tokenizers.Tokenizer.from_buffer, data)
    with pytest.raises(FormatError, match="not JSON"):
        face.Tokenizer.from_buffer(data)


@pytest.mark.parametrize("text", [r'"\ud83d\ude00"', r'"\\ud800"', '"\U0001f600"'])
def test_surrogate_pair_and_escaped_backslash_are_read(text: str) -> None:
    data = f'{{"version":"1.0","model":{BPE % f",{chr(34)}unk_token{chr(34)}:{text}"}}}'
    assert face.Tokenizer.from_str(data).model.unk_token == tokenizers.Tokenizer.from_str(data).model.unk_token


@pytest.mark.parametrize(("data", "message"), VOCABULARIES)
def test_damaged_vocabulary_is_refused(data: bytes, message: str, tmp_path: Path) -> None:
    vocab, merges = str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt")
    Path(vocab).write_bytes(data)
    Path(merges).write_bytes(b"a b\n")
    for name, files in (("BPE", (vocab, merges)), ("WordLevel", (vocab,))):
        assert refuses(getattr(tokenizers.models, name).read_file, *files)
        with pytest.raises(FormatError, match=message) as raised:
            getattr(face.models, name).read_file(*files)
        assert str(raised.value).startswith(vocab)


def test_lines_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    vocab, lines = str(tmp_path / "vocab.json"), str(tmp_path / "lines.txt")
    Path(vocab).write_bytes(b'{"a":0}')
    Path(lines).write_bytes(b"a \xe9\n")
    for name, files in (("BPE", (vocab, lines)), ("WordPiece", (lines,))):
        assert refuses(getattr(tokenizers.models, name).read_file, *files)
        with pytest.raises(FormatError, match=r"lines\.txt: not UTF-8"):
            getattr(face.models, name).read_file(*files)


@pytest.mark.parametrize("other", ["true", "null", '"1"', "[1]"])
def test_tokens_without_a_number_are_left_out(other: str, tmp_path: Path) -> None:
    vocab = str(tmp_path / "vocab.json")
    Path(vocab).write_text(f'{{"a":0,"b":{other}}}', encoding="utf-8")
    assert tokenizers.models.WordLevel.read_file(vocab) == face.models.WordLevel.read_file(vocab) == {"a": 0}


@pytest.mark.parametrize(("name", "content"), FOLDERS)
def test_surrogate_in_a_folder_is_refused(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(f'{{"version":"1.0","model":{WORDS}}}', encoding="utf-8")
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(FormatError, match=r"lone surrogate in .*<\\ud800"):
        fastbpe.load(tmp_path)


def test_surrogate_in_a_vocabulary_of_bytes_is_refused(tmp_path: Path) -> None:
    vocab = {chr(33 + i): i for i in range(94)} | {"x\ud800": 94}
    (tmp_path / "vocab.json").write_text(json.dumps(vocab), encoding="utf-8")
    (tmp_path / "merges.txt").write_text("", encoding="utf-8")
    with pytest.raises(FormatError, match=r"lone surrogate in .*x\\ud800"):
        fastbpe.load(tmp_path, pattern="gpt2")
