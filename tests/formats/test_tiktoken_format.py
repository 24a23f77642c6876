"""The `.tiktoken` format, read and written, compared with tiktoken's reader."""

import base64
import os
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiktoken.load import load_tiktoken_bpe

import fastbpe
from fastbpe import FormatError, SpecialTokenError, Tokenizer
from fastbpe.formats import rank_lines
from fastbpe.formats.tiktoken import dump, list_tokens, parse_ranks
from fastbpe.model import Model, pack_merges
from helpers.sampling import n_rounds
from helpers.shared_data import BYTES, data_file, published, ranks_of

RANKS = {**BYTES, b"ab": 256, b"abc": 257, b"\xff\xfe\x00": 300, " 日".encode(): 299}


def lines_of(ranks: dict[bytes, int]) -> list[bytes]:
    return [base64.b64encode(token) + b" %d" % rank for token, rank in ranks.items()]


DATA = b"\n".join(lines_of(RANKS)) + b"\n"


class Name:
    """A path-like object that is neither str nor Path."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)


def test_exported_file_is_read_by_tiktoken_and_fastbpe(tmp_path: Path) -> None:
    path = tmp_path / "small.tiktoken"
    tokenizer = Tokenizer.from_ranks(RANKS, pattern="cl100k", special_tokens={"<s>": 400})
    tokenizer.export(path, format="tiktoken")
    assert load_tiktoken_bpe(str(path)) == RANKS
    again = fastbpe.load(path, pattern="cl100k", special_tokens={"<s>": 400})
    assert again == tokenizer
    assert ranks_of(again) == RANKS
    again.export(tmp_path / "again.tiktoken", format="tiktoken")
    assert (tmp_path / "again.tiktoken").read_bytes() == path.read_bytes()


def test_lines_may_be_in_any_order() -> None:
    tokenizer = fastbpe.load(b"\n".join(reversed(lines_of(RANKS))), pattern="none")
    assert tokenizer == Tokenizer.from_ranks(RANKS, pattern=None)


def test_trained_tokenizer_round_trips(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "code.tiktoken"
    code_tokenizer.export(path, format="tiktoken")
    assert load_tiktoken_bpe(str(path)) == ranks_of(code_tokenizer)
    again = fastbpe.load(path, pattern=code_tokenizer.pattern, special_tokens=code_tokenizer.special_tokens)
    assert again == code_tokenizer
    assert again.merges == code_tokenizer.merges


@pytest.mark.daily
@pytest.mark.parametrize("name", ["r50k_base", "p50k_base", "cl100k_base"])
def test_published_files_are_written_to_the_byte(name: str, tmp_path: Path) -> None:
    published(name).export(tmp_path / "out.tiktoken", format="tiktoken")
    assert (tmp_path / "out.tiktoken").read_bytes() == data_file("vocab", f"{name}.tiktoken").read_bytes()


def test_published_files_need_no_pattern_but_accept_one() -> None:
    path = data_file("vocab", "r50k_base.tiktoken")
    assert fastbpe.load(path) == fastbpe.load(path.read_bytes())
    other = fastbpe.load(path, pattern="cl100k", special_tokens={"<s>": 50300})
    assert other.pattern == fastbpe.PATTERNS["cl100k"]
    assert other.special_tokens == {"<s>": 50300}
    assert fastbpe.load(path, special_tokens={}).special_tokens == {}


def test_published_files_are_recognised_by_contents(tmp_path: Path) -> None:
    copy = tmp_path / "any name at all"
    copy.write_bytes(data_file("vocab", "r50k_base.tiktoken").read_bytes())
    assert fastbpe.load(copy).name == "r50k_base"
    copy.write_bytes(copy.read_bytes().replace(b"\n", b"\r\n"))
    assert fastbpe.load(copy) == published("r50k_base")
    copy.write_bytes(copy.read_bytes()[:-1] + b"\r")
    with pytest.raises(FormatError, match=r"does not store its split pattern.* pattern=\.\.\., and its special"):
        fastbpe.load(copy)


def test_file_loads_from_every_kind_of_source(tmp_path: Path) -> None:
    path = tmp_path / "small.tiktoken"
    path.write_bytes(DATA)
    for source in (path, str(path), Name(path), DATA, bytearray(DATA), memoryview(DATA)):
        assert ranks_of(fastbpe.load(source, pattern="gpt2")) == RANKS  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "data",
    [
        DATA.rstrip(b"\n"),
        DATA + b"\n\n\n",
        b"\n\n" + DATA,
        DATA.replace(b"\n", b"\n\n"),
        DATA.replace(b"\n", b"\r\n"),
        DATA.replace(b"\n", b"\r\n\r\n"),
        DATA.replace(b"\n", b"\r\n").rstrip(b"\n"),
    ],
)
def test_line_ends_and_blank_lines_do_not_matter(data: bytes, tmp_path: Path) -> None:
    assert ranks_of(fastbpe.load(data, pattern="none")) == RANKS
    path = tmp_path / "small.tiktoken"
    path.write_bytes(data)
    if b"\r\n\r\n" not in data:
        assert load_tiktoken_bpe(str(path)) == RANKS


def test_missing_pattern_raises_format_error(tmp_path: Path) -> None:
    path = tmp_path / "small.tiktoken"
    path.write_bytes(DATA)
    message = r'small\.tiktoken: .*by name \(gpt2, .*, none\) or as a regex: pattern=.*"none" means no splitting'
    with pytest.raises(FormatError, match=message):
        fastbpe.load(path)
    assert fastbpe.load(path, pattern="none").pattern is None
    assert fastbpe.load(path, pattern=r"\w|\W").pattern == r"\w|\W"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"!!!! 400", r"b'!!!!' is not base64"),
        (b"YQ 400", "is not base64"),
        (b"YQ= 400", "is not base64"),
        (b"YWJ-ZA== 400", "is not base64"),
        (b"\xff\xff 400", "is not base64"),
        (b"YWJj\x00 400", "is not base64"),
        (b"YWJjZA==", "found no rank"),
        (b"YWJjZA== ", "found no rank"),
        (b" 400", "found no rank"),
        (b"   ", "expected a token in base64"),
        (b"YWJjZA== 400 401", "found 3 fields"),
        (b"YWJjZA== x", r"rank b'x' is not a number"),
        (b"YWJjZA== 4x", r"rank b'4x' is not a number"),
        (b"YWJjZA== -4", r"rank b'-4' is not a number from 0"),
        (b"YWJjZA== +4", "is not a number"),
        (b"YWJjZA== 4.0", "is not a number"),
        (b"YWJjZA== 1e3", "is not a number"),
        (b"YWJjZA== 4_0", "is not a number"),
        (b"YWJjZA== \xd9\xa3", "is not a number"),
        (b"YWJjZA== 16777216", "is not a number from 0 to 16777215"),
        (b"YWJjZA== 99999999999999999999999999", "is not a number from 0 to 16777215"),
        (b"YWJjZA== " + b"9" * 10_000, "is not a number from 0 to 16777215"),
        (b"YWJjZA== " + b"0" * 20 + b"9" * 10, "is not a number from 0 to 16777215"),
        (b"YWJjZA== " + b"0" * 20 + b"9" * 5000, "is not a number from 0 to 16777215"),
        (b"==== 400", "base64|empty"),
        (b"YWI= 400", r"token b'ab' is already on line 257; re-export"),
        (b"YWJjZA== 256", r"rank 256 is already on line 257; re-export"),
    ],
)
@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b""])
def test_invalid_line_is_named_by_number(line: bytes, message: str, ending: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bad.tiktoken"
    path.write_bytes(DATA + line + ending)
    with pytest.raises(FormatError, match=rf"bad\.tiktoken:{len(RANKS) + 1}: .*(?:{message})"):
        fastbpe.load(path, pattern="none")
    with pytest.raises(FormatError, match=rf"<bytes>:{len(RANKS) + 1}: "):
        fastbpe.load(DATA + line + ending, pattern="none")


def test_blank_lines_count_in_line_numbers() -> None:
    with pytest.raises(FormatError, match="<bytes>:4: "):
        fastbpe.load(b"\nYQ== 97\r\n\nYg==\n", pattern="none")


@pytest.mark.parametrize("first", [b"YWI=", b"!!!! 1", b"YWJj x", b"", b"YWJj 1 2"])
def test_invalid_first_line_is_named_by_number(first: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bad.tiktoken"
    path.write_bytes(first + b" \n" + DATA)
    with pytest.raises(FormatError, match=r"bad\.tiktoken:1: "):
        fastbpe.load(path, pattern="none")


def test_missing_byte_token_is_named() -> None:
    for missing in (0x00, 0x61, 0xFF):
        ranks = {token: rank for token, rank in RANKS.items() if token != bytes([missing])}
        with pytest.raises(FormatError, match=rf"<bytes>: no token is the single byte 0x{missing:02x}"):
            fastbpe.load(b"\n".join(lines_of(ranks)), pattern="none")
    with pytest.raises(FormatError, match="0x00"):
        fastbpe.load(b"YQ== 0\nYg== 1\n", pattern="none")


def test_ranks_may_skip_ids() -> None:
    tokenizer = fastbpe.load(DATA, pattern="none")
    assert tokenizer.n_vocab == 301
    assert tokenizer.vocab_size == 260
    with pytest.raises(KeyError):
        tokenizer.decode([270])


def test_special_tokens_that_clash_are_refused() -> None:
    with pytest.raises(SpecialTokenError, match="'<s>' has the id 256, which another"):
        fastbpe.load(DATA, pattern="none", special_tokens={"<s>": 256})
    with pytest.raises(SpecialTokenError, match="'ab' is also the ordinary token 256"):
        fastbpe.load(DATA, pattern="none", special_tokens={"ab": 500})
    assert fastbpe.load(DATA, pattern="none", special_tokens={"<s>": 270}).special_tokens == {"<s>": 270}


@pytest.mark.parametrize(
    "data", [b"", b"\n\n", b"\r\n \n", b"hello world\n", b"{}", b"\x00" * 100, b"\x80\x04\x95", b"YQ=="]
)
def test_other_data_raises_format_error(data: bytes, tmp_path: Path) -> None:
    for name in ("file.tiktoken", "file.bin"):
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(FormatError, match=name.replace(".", r"\.")):
            fastbpe.load(path, pattern="none")
    with pytest.raises(FormatError, match="<bytes>"):
        fastbpe.load(data, pattern="none")


def test_missing_file_or_empty_folder_raises(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"missing\.tiktoken"):
        fastbpe.load(tmp_path / "missing.tiktoken")
    with pytest.raises(FormatError, match="no tokenizer in this folder"):
        fastbpe.load(tmp_path)


@pytest.mark.parametrize("source", [None, 1.5, ["a"], object()])
def test_source_of_wrong_type_raises_type_error(source: Any) -> None:
    with pytest.raises(TypeError):
        fastbpe.load(source)


def test_file_descriptor_raises_type_error() -> None:
    """open() would take the number, read from it and close it."""
    reading, writing = os.pipe()
    os.write(writing, DATA[:1000])
    os.close(writing)
    with pytest.raises(TypeError):
        fastbpe.load(reading, pattern="none")  # type: ignore[arg-type]
    assert os.read(reading, 4) == DATA[:4]
    os.close(reading)


def test_export_refuses_tokenizers_that_the_format_cannot_express(tmp_path: Path) -> None:
    path = tmp_path / "out.tiktoken"
    merges = pack_merges([(98, 99, 257), (97, 98, 256)])  # in another order than the ids
    by_list = Tokenizer(
        Model(tokens=[*BYTES, b"ab", b"bc"], pattern=None, special_tokens={}, merges=merges, merges_rule="merges")
    )
    with pytest.raises(FormatError, match=r"merges by a list of pairs.*export this tokenizer as native"):
        by_list.export(path, format="tiktoken")
    twice = Tokenizer(Model(tokens=[*BYTES, b"ab", b"ab"], pattern=None, special_tokens={}))
    with pytest.raises(
        FormatError, match=r"ids 256 and 257 are both the token b'ab'.*export this tokenizer as native"
    ):
        twice.export(path, format="tiktoken")
    assert not list(tmp_path.iterdir())
    twice.export(path, format="native")
    assert fastbpe.load(path).token_to_id(b"ab") == 256
    assert fastbpe.load(path).decode([257]) == "ab"


def test_empty_token_is_written_in_its_place_and_hides_no_repetition() -> None:
    assert dump([b"a", b"", b"b"], empty=1) == b"YQ== 0\n= 1\nYg== 2\n"
    assert dump([b"a"], empty=2) == b"YQ== 0\n= 2\n"
    with pytest.raises(FormatError, match="ids 0 and 2 are both the token b'a'"):
        dump([b"a", b"", b"a"], empty=1)


# The fast reader of lines and its slow twin.

_fields = st.one_of(
    st.binary(min_size=1, max_size=20).map(base64.b64encode),
    st.sampled_from(
        [b"YQ==", b"YWI=", b"YR==", b"YWJ=", b"YQ", b"YQ=", b"Y===", b"====", b"", b"YW=I", b"YQ==YQ==", b"YWJ-"]
    ),
)
_ranks_of_lines = st.one_of(
    st.integers(0, 40).map(b"%d".__mod__),
    st.sampled_from([b"", b"007", b"16777216", b"70000", b"-1", b"+1", b"1 2", b"1_0", b"9" * 30]),
)
_plain_lines = st.builds(
    lambda token, rank: base64.b64encode(token) + b" %d\n" % rank,
    st.binary(min_size=1, max_size=9),
    st.integers(0, 300),
)
_odd_lines = st.builds(
    lambda *parts: b"".join(parts),
    _fields,
    st.sampled_from([b" ", b" ", b"  ", b"\t", b"", b"\r"]),
    _ranks_of_lines,
    st.sampled_from([b"\n", b"\r\n", b"", b" \n", b"\n\n", b"\r"]),
)


def check_fast_reader(data: bytes) -> bool:
    """Return True if the fast reader accepted the data, after checking that the slow one reads the same."""
    fast = rank_lines.parse(data)
    try:
        tokens = list_tokens(parse_ranks(data, "file"))
    except FormatError:
        assert fast is None
        return False
    if fast is None:
        return False
    flat, ends = fast
    assert flat == b"".join(tokens)
    assert list(memoryview(ends).cast("I")) == list(accumulate(map(len, tokens)))
    return True


@settings(max_examples=n_rounds(166, 500))
@given(st.lists(_plain_lines, max_size=8), st.lists(_odd_lines, max_size=2))
def test_fast_reader_agrees_with_the_slow_one_or_returns_none(plain: list[bytes], odd: list[bytes]) -> None:
    check_fast_reader(b"".join(plain))
    check_fast_reader(b"".join(odd))
    check_fast_reader(b"".join([*plain, *odd]))
    check_fast_reader(b"".join([*odd, *plain]).rstrip())


def test_fast_reader_accepts_regular_files() -> None:
    reversed_lines = b"\r\n".join(reversed(lines_of(RANKS)))
    for data in (DATA, DATA.rstrip(), DATA.replace(b"\n", b"\r\n"), b"\n\n" + DATA, reversed_lines):
        assert check_fast_reader(data)


def test_fast_reader_agrees_with_the_slow_one_on_altered_files() -> None:
    data = bytearray(b"\n".join(lines_of({b"a": 0, b"ab": 10, b"abc": 7, b"\xff" * 7: 3})) + b"\r\n\n")
    for at in range(len(data)):
        old = data[at]
        for value in range(256):
            data[at] = value
            check_fast_reader(bytes(data))
        data[at] = old
    for n_bytes in range(len(data)):
        check_fast_reader(bytes(data[:n_bytes]))


@pytest.mark.parametrize("name", ["r50k_base", "p50k_base"])
def test_fast_reader_reads_published_files(name: str) -> None:
    data = data_file("vocab", f"{name}.tiktoken").read_bytes()
    fast = rank_lines.parse(data)
    assert fast is not None
    flat, ends = fast
    tokens = list_tokens(parse_ranks(data, name))
    assert flat == b"".join(tokens)
    assert memoryview(ends).cast("I")[len(tokens) - 1] == len(flat)
