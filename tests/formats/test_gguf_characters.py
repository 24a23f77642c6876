"""GGUF files of characters (Gemma 4) against a plain twin of llama.cpp's rule.

The twin gave the ids of llama.cpp (0.3.36 of llama-cpp-python) for 2,000 random files of the kind drawn here.
"""

from __future__ import annotations

import random
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, FormatWarning, Tokenizer
from fastbpe.formats.gguf import metadata
from fastbpe.formats.gguf.metadata import BOOL, INT32, STRING, UINT32, Typed
from fastbpe.model import PieceType
from helpers.sampling import rounds

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
TOKENS = ["<bos>", "<u>", *BYTES, "▁", "a", "b", "é", "\n", "\n\n", "\n\n\n", "ab", "▁ab", "▁▁", "<html>"]
MERGES = ["\n\n \n", "a b", "▁ ab", "▁ ▁", "\n \n"]


def strings(texts: list[str]) -> Typed:
    return Typed(STRING, [text.encode() for text in texts], True)


def types_of(tokens: list[str]) -> list[int]:
    kinds = {"<bos>": PieceType.CONTROL, "<u>": PieceType.UNKNOWN, "<html>": PieceType.USER_DEFINED}
    return [int(kinds.get(token, PieceType.NORMAL)) for token in tokens]


def written(**changes: Any) -> bytes:
    keys = {
        "model": Typed(STRING, b"gemma4"),
        "tokens": strings(TOKENS),
        "token_type": Typed(INT32, types_of(TOKENS), True),
        "merges": strings(MERGES),
        "bos_token_id": Typed(UINT32, 0),
    } | changes
    named = {f"tokenizer.ggml.{key}": value for key, value in keys.items() if value is not None}
    return metadata.write({"general.architecture": Typed(STRING, b"llama"), **named})


def twin(text: str, tokens: list[str], merges: list[str], types: list[int]) -> list[int]:
    """Give the ids that llama.cpp gives without bos, with special tokens read."""
    ids = {token: i for i, token in enumerate(tokens)}
    found = [token for token, kind in zip(tokens, types, strict=True) if kind in (2, 3, 4)]
    pattern = "|".join(map(re.escape, sorted(found, key=len, reverse=True)))
    out: list[int] = []
    for part in re.split(f"({pattern})", text) if found else [text]:
        if part in found:
            out.append(ids[part])
            continue
        for piece in re.findall(r"[^\n]+|\n+", part.replace(" ", "▁")):
            whole = not piece.strip("\n") and piece in ids
            for symbol in [piece] if whole else merged([*piece], merges):
                out += [ids[symbol]] if symbol in ids else [ids[f"<0x{b:02X}>"] for b in symbol.encode()]
    return out


def merged(symbols: list[str], merges: list[str]) -> list[str]:
    while True:
        pairs = [f"{left} {right}" for left, right in pairwise(symbols)]
        known = [merges.index(pair) for pair in pairs if pair in merges]
        if not known:
            return symbols
        at = pairs.index(merges[min(known)])
        symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]


TEXTS = [
    "",
    "ab ab",
    "a\u2581b  \n\n\nab",
    "\n\n\n\n\n",
    "<bos><html> ab<u>",
    "zé\U0001f600 <0x41>\x00\t",
    "\n \n  é",
]


def test_ids_are_those_of_llama_cpp() -> None:
    tokenizer = fastbpe.load(written())
    assert tokenizer.mode == "character"
    assert (tokenizer.bos_token_id, tokenizer.special_tokens) == (0, {"<bos>": 0, "<u>": 1})
    for text in TEXTS:
        expected = twin(text, TOKENS, MERGES, types_of(TOKENS))
        assert tokenizer.encode(text, allowed_special="all") == expected
        assert tokenizer.encode_with_template(text)[:1] == [0]
        assert tokenizer.decode(expected) == text.replace("\u2581", " ")


def test_empty_tokens_are_named_by_their_ids_as_in_llama_cpp() -> None:
    def load(*others: str) -> Any:
        tokens = [*TOKENS, *others]
        return fastbpe.load(written(tokens=strings(tokens), token_type=Typed(INT32, types_of(tokens), True)))

    first = len(TOKENS)
    made = load("", "")
    assert [made.id_to_token(first + i) for i in range(2)] == [b"[EMPTY_%d]" % (first + i) for i in range(2)]
    with pytest.raises(FormatError, match=rf"ids {first} and {first + 1} are both .*EMPTY_{first}"):
        load("", f"[EMPTY_{first}]")


def test_merge_that_begins_like_a_version_counts() -> None:
    name = "#version"
    texts = [name[:n] for n in range(2, len(name) + 1)]
    tokens = [*TOKENS, *name, *texts, "#version1", "1"]
    merges = [*MERGES, *(f"{text[:-1]} {text[-1]}" for text in texts), "#version 1"]
    tokenizer = fastbpe.load(
        written(tokens=strings(tokens), merges=strings(merges), token_type=Typed(INT32, types_of(tokens), True))
    )
    assert tokenizer.encode("#version1") == [tokens.index("#version1")]


@pytest.mark.parametrize(
    ("changes", "before"),
    [
        ({"add_bos_token": Typed(BOOL, False)}, [0]),  # llama.cpp forces it
        ({"model": Typed(STRING, b"gpt2"), "pre": Typed(STRING, b"granite-embed-multi-311m")}, [0]),
        ({"model": Typed(STRING, b"gpt2"), "pre": Typed(STRING, b"sarvam-moe")}, []),
        ({"bos_token_id": None}, []),
    ],
)
def test_names_of_steps_decide_the_bos_token(changes: dict[str, Any], before: list[int]) -> None:
    tokenizer = fastbpe.load(written(**changes))
    assert tokenizer.template == (before, [])
    assert tokenizer.encode("  ab\n\n") == twin("  ab\n\n", TOKENS, MERGES, types_of(TOKENS))


def test_lines_that_merges_do_not_make_are_taken_by_one_kind_alone() -> None:
    changes = {
        "merges": strings(MERGES[1:4]),
        "model": Typed(STRING, b"gpt2"),
        "pre": Typed(STRING, b"sarvam-moe"),
    }
    line = TOKENS.index("\n")
    assert fastbpe.load(written(**changes)).encode("\n\n") == [line, line]
    with pytest.raises(FormatError, match=r"llama\.cpp encodes '\\n\\n' as one token"):
        fastbpe.load(written(merges=strings(MERGES[1:4])))


@pytest.mark.parametrize("format", ["native", "huggingface"])
def test_ids_outlast_other_formats(format: str, tmp_path: Path) -> None:
    tokenizer, path = fastbpe.load(written()), tmp_path / "a.json"
    tokenizer.export(path, format=format)  # type: ignore[arg-type]
    again = fastbpe.load(path)
    for text in TEXTS:
        assert again.encode(text, allowed_special="all") == tokenizer.encode(text, allowed_special="all")
        assert again.encode_with_template(text) == tokenizer.encode_with_template(text)
    with pytest.raises(FormatError, match="no format of character-mode tokenizers has the extension"):
        tokenizer.export(tmp_path / "a.gguf")


def test_special_tokens_of_the_caller_replace_those_of_the_file() -> None:
    assert fastbpe.load(written(), special_tokens={"<x>": 300}).special_tokens == {"<x>": 300}


def random_vocabulary(rng: random.Random) -> tuple[list[str], list[str], list[int]]:
    tokens = rng.sample(
        ["a", "b", "c", "▁", "\n", "é", "你", "\U0001f600", "\t", "<", ">", "0"], rng.randint(3, 12)
    )
    merges: list[str] = []
    for _ in range(rng.randint(0, 25)):
        left, right = rng.choice(tokens), rng.choice(tokens)
        if len(left + right) > 8 or (not left.strip("\n") and not right.strip("\n")):
            continue
        tokens = list(dict.fromkeys([*tokens, left + right]))
        merges.append(f"{left} {right}")
    rng.shuffle(merges)
    tokens += [*BYTES, *rng.sample(["<bos>", "<u>", "<x>", "<pad>"], rng.randint(0, 4))]
    rng.shuffle(tokens)
    types = [rng.choice([2, 3, 4, 5, 1]) if token in ("<bos>", "<u>", "<x>") else 1 for token in tokens]
    return tokens, merges, types


@pytest.mark.parametrize("seed", rounds(40, 2000))
def test_random_vocabularies_give_the_ids_of_llama_cpp(seed: int) -> None:
    rng = random.Random(seed)
    tokens, merges, types = random_vocabulary(rng)
    twice = merges + rng.sample(merges, len(merges) // 2)  # of two equal merges, the first counts
    file = written(tokens=strings(tokens), token_type=Typed(INT32, types, True), merges=strings(twice))
    tokenizer = fastbpe.load(file)
    parts = [*"abc\n \t<>0é你d", "\U0001f600", "\n\n", "<bos>", "<u>", "<x>", "<0x41>", "▁"]
    for _ in range(30):
        text = "".join(rng.choices(parts, k=rng.randint(0, 14)))
        assert tokenizer.encode(text, allowed_special="all") == twin(text, tokens, merges, types), (text, merges)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"tokens": strings([*TOKENS[:40], "c", *TOKENS[41:]])},
            "<0x26> is not a token: expected tokens of all bytes",
        ),
        ({"tokens": strings([*TOKENS[:-1], "a"])}, "are both the token b'a'"),
        ({"merges": strings(["<0x41> a"])}, "merge 0, '<0x41> a': byte tokens cannot be merged"),
        ({"merges": strings([*MERGES, "a zz"])}, r"merges\[5\].*'zz' is not a token"),
        ({"merges": strings([*MERGES, "b a"])}, r"merges\[5\].*'ba' is not a token"),
        ({"merges": None}, "merges: expected an array"),
        (
            {
                "merges": strings(MERGES[1:4]),
                "token_type": Typed(
                    INT32, [int(PieceType.CONTROL) if "\n\n" in token else 1 for token in TOKENS], True
                ),
            },
            "as one token, but the merges do not make this token",
        ),
        (
            {"token_type": Typed(INT32, [int(PieceType.BYTE) if token == "a" else 1 for token in TOKENS], True)},
            "token 259, b'a', is of the type BYTE, but its text names no byte",
        ),
        (
            {"tokens": strings([*TOKENS[:-2], "\n" * 300, "<html>"])},
            "as one token, but the merges do not make this token",
        ),
    ],
)
def test_files_that_merge_otherwise_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        fastbpe.load(written(**changes))


def test_split_pattern_of_the_caller_is_refused() -> None:
    with pytest.raises(FormatError, match="contains its own split pattern; leave pattern= out"):
        fastbpe.load(written(), pattern="gpt2")


# Split patterns of llama.cpp's own, with the pieces that it gives.


@pytest.mark.parametrize(
    ("name", "text", "pieces"),
    [
        ("superbpe", "by 1234567 or 12", ["by ", "1", "234", "567", " or ", "12"]),
        ("superbpe", "½1234½12345½", ["½1", "234½12", "345½"]),
        ("superbpe", "½123", ["½", "123"]),
        ("afmoe", "ab  1234567", ["ab", " ", " ", "1", "234", "567"]),
        ("afmoe", "日本 x123ไทย", ["日本", " x", "123", "ไ", "ทย"]),
        ("spark2_5", "a\n\n 1234!", ["a", "\n", "\n", " ", "1", "2", "3", "4", "!"]),
        ("default", "a$$  12345é", ["a", "$$", " ", " ", "123", "45", "é"]),
    ],
)
def test_pieces_are_those_of_llama_cpp(name: str, text: str, pieces: list[str]) -> None:
    from fastbpe.formats.gguf.split_patterns import PRE_TOKENIZERS

    tokenizer = Tokenizer.from_ranks({bytes([b]): b for b in range(256)}, pattern=PRE_TOKENIZERS[name].pattern)
    assert [text[start:end] for start, end in tokenizer.pieces(text)] == pieces


@pytest.mark.parametrize("name", ["superbpe", "afmoe"])
def test_long_numbers_take_linear_time(name: str) -> None:
    tokenizer = Tokenizer.from_ranks({bytes([b]): b for b in range(256)}, pattern=name)
    for text in ("1" * 500_000, "a" * 500_000, "½" * 500_000):
        assert tokenizer.count(text) == len(text.encode())


def test_file_without_a_name_is_split_as_llama_cpp_does(recwarn: pytest.WarningsRecorder) -> None:
    from helpers.tokenizer_json import SHOWN

    tokens = strings([*SHOWN, "12", "123"])
    types = Typed(INT32, [1] * 258, True)
    file = written(model=Typed(STRING, b"gpt2"), tokens=tokens, token_type=types, merges=strings(["1 2", "12 3"]))
    with pytest.warns(FormatWarning, match=r"tokenizer\.ggml\.pre is missing"):
        tokenizer = fastbpe.load(file)
    assert tokenizer.encode("12345") == [257, 52, 53]
    assert fastbpe.load(file, pattern="qwen2").encode("12") == [49, 50]
