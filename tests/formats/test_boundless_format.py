"""BoundlessBPE's .model, second version: round trips, and every kind of damage."""

from collections.abc import Callable
from pathlib import Path

import pytest

import fastbpe
from fastbpe import FormatError, Tokenizer, load, train
from fastbpe.formats import boundless_model

RARE = " ".join(f"{a}{b}{c}q" for a in "xyz" for b in "uvw" for c in "rst")
TEXT = f"in the end of the day the end of the week, the end. {RARE}\n" * 3
TEXTS = [TEXT, "", "the end ü 漢字 of the\x00end", TEXT.replace(" ", "  ")]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train([TEXT], vocab_size=300, superwords="boundless", special_tokens=["<|end|>", "<|a b|>"])


@pytest.fixture(scope="module")
def file(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("files") / "t.model"
    tokenizer.export(path)
    return path.read_bytes()


@pytest.mark.daily
def test_a_file_comes_back_as_it_was(tokenizer: Tokenizer, file: bytes, tmp_path: Path) -> None:
    assert file.startswith(b"BoundlessBPE v2 boundless\nvocabulary\n298\n0 ")
    loaded = load(file)
    assert loaded.special_tokens == tokenizer.special_tokens == {"<|end|>": 298, "<|a b|>": 299}
    assert loaded.vocab == tokenizer.vocab
    assert loaded.merges == tokenizer.merges
    for text in TEXTS:
        assert loaded.encode(text) == tokenizer.encode(text)
    loaded.export(tmp_path / "again.model", verify=True)
    assert (tmp_path / "again.model").read_bytes() == file
    loaded.save(tmp_path / "saved.model")
    assert (tmp_path / "saved.model").read_bytes() == file
    assert load(file.replace(b"\n", b"\r\n")).vocab == tokenizer.vocab


def test_the_reference_s_base_lacks_bytes_that_no_text_has(tokenizer: Tokenizer, file: bytes) -> None:
    lines = file.decode().split("\n")
    tokens = [line.split(" ") for line in lines[3:301]]
    kept = [row for row in tokens if int(row[0]) not in {0xC0, 0xC1, *range(0xF5, 0x100)}]
    new_ids = {row[0]: str(i) for i, row in enumerate(kept)}
    renumbered = [" ".join([str(i), *row[1:]]) for i, row in enumerate(kept)]
    rest = [line.replace("298 <", "285 <").replace("299 <", "286 <") for line in lines[301:]]
    loaded = load("\n".join([*lines[:2], "285", *renumbered, *rest]).encode())
    assert loaded.vocab_size == tokenizer.vocab_size - 13
    for text in TEXTS:
        ids = [int(new_ids[str(i)]) for i in tokenizer.encode(text)]
        assert loaded.encode(text) == ids
        assert [*loaded.encode_with_offsets(text)[1]] == [*tokenizer.encode_with_offsets(text)[1]]
        assert loaded.decode(ids) == text


def test_words_alone_are_a_model_too(tmp_path: Path) -> None:
    words = train([TEXT], vocab_size=300)
    words.export(tmp_path / "w.model", format="boundless", verify=True)
    data = (tmp_path / "w.model").read_bytes()
    assert data.startswith(b"BoundlessBPE v2 word\n")
    assert b"superwords" not in data
    for text in TEXTS:
        assert load(data).encode(text) == words.encode(text)


def test_superbpe_s_kind_is_kept(file: bytes, tmp_path: Path) -> None:
    other = file.replace(b"v2 boundless", b"v2 superbpe").replace(
        b'"superbpe_mode": false', b'"superbpe_mode": true'
    )
    load(other).export(tmp_path / "s.model")
    written = (tmp_path / "s.model").read_bytes()
    assert written.startswith(b"BoundlessBPE v2 superbpe\n")
    assert load(written) == load(other)


def edited(edit: Callable[[list[str]], object]) -> Callable[[bytes], bytes]:
    def change(data: bytes) -> bytes:
        lines = data.decode().split("\n")
        edit(lines)
        return "\n".join(lines).encode()

    return change


def at(name: str, further: int) -> Callable[[list[str]], int]:
    return lambda lines: lines.index(name) + further


DAMAGE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "kind": (
        lambda data: data.replace(b"v2 boundless", b"v2 endless"),
        r":1: unknown kind of model 'endless'",
    ),
    "truncated": (lambda data: data[: len(data) // 2], "truncated: it ends after line|expected"),
    "not UTF-8": (lambda data: data[:200] + b"\xff" + data[200:], "not UTF-8: invalid byte 0xff at offset 200"),
    "a gap in ids": (lambda data: data.replace(b"\n257 ", b"\n258 ", 1), "has the id 258, but the next id is 257"),
    "a token twice": (
        edited(lambda lines: lines.__setitem__(4, "1 Ā 0 0")),
        ":5: token 'Ā' appears twice",
    ),
    "a character of no byte": (edited(lambda lines: lines.__setitem__(4, "1 漢 0 0")), "stands for no byte"),
    "an empty token": (edited(lambda lines: lines.__setitem__(4, "1  0 0")), ":5: '' is not a token: it is empty"),
    "a missing byte": (
        edited(lambda lines: lines.__setitem__(3 + 65, "65 AAAA 0 0")),
        "no token for the byte 0x41",
    ),
    "no number": (edited(lambda lines: lines.__setitem__(2, "many")), ":3: expected a number of lines"),
    "fields": (edited(lambda lines: lines.__setitem__(3, "0 Ā 0")), ":4: expected 4 fields"),
    "a special token": (
        edited(lambda lines: lines.__setitem__(at("special_tokens", 2)(lines), "x")),
        "expected an id and a special token",
    ),
    "options": (
        edited(lambda lines: lines.__setitem__(at("words", 1)(lines), "[]")),
        "must be an object with 'main_regex'",
    ),
    "no JSON": (edited(lambda lines: lines.__setitem__(at("words", 1)(lines), "{")), "as a JSON object"),
    "scripts": (
        lambda data: data.replace(b'"script_specific_regex": null', b'"script_specific_regex": "."', 1),
        "script_specific_regex",
    ),
    "deletions": (
        edited(lambda lines: lines.__setitem__(at("deletions", 1)(lines), "2")),
        r"the model deletes 2 tokens \(PickyBPE\)",
    ),
    "a merge without token": (
        edited(lambda lines: lines.__setitem__(at("merges", 2)(lines), "0 q q 0 0")),
        "which is not a token",
    ),
    "a merge numbered otherwise": (
        edited(lambda lines: lines.__setitem__(at("merges", 2)(lines), "77" + lines[at("merges", 2)(lines)][1:])),
        "have gaps or repetitions",
    ),
    "a merge twice": (
        edited(lambda lines: lines.__setitem__(at("merges", 3)(lines), "1" + lines[at("merges", 2)(lines)][1:])),
        "join the same two tokens",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_a_format_error_with_its_place(name: str, file: bytes) -> None:
    damage, message = DAMAGE[name]
    damaged = damage(file)
    assert damaged != file
    with pytest.raises(FormatError, match=message):
        load(damaged)


def test_merges_out_of_order_are_refused(file: bytes) -> None:
    lines = file.decode().split("\n")
    first = lines.index("merges") + 2
    n = int(lines[first - 1])
    rows = [line.split(" ", 1)[1] for line in lines[first : first + n]][::-1]
    lines[first : first + n] = [f"{i} {row}" for i, row in enumerate(rows)]
    with pytest.raises(FormatError, match="joins a token that no earlier merge creates"):
        load("\n".join(lines).encode())


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: train([TEXT], vocab_size=270, pattern=r"[a-z]+"), "drops text that the split pattern"),
        (
            lambda: Tokenizer.from_merges([], pattern=r"[^b]|(?<=a)b"),  # matches "ab", but not "b" alone
            r"and this one may not match 'b' everywhere; .* or train with \|\[\\s\\S\] at its end",
        ),
        (lambda: train([TEXT], vocab_size=270, pattern=["gpt2", r"\d|\D+"]), "stores one split pattern"),
        (
            lambda: train([TEXT], vocab_size=270, special_tokens=["<a> "]),
            "special token '<a> ', because it contains a line ending, or begins or ends with white space",
        ),
    ],
)
def test_export_names_a_part_that_the_format_cannot_hold(
    made: Callable[[], Tokenizer], message: str, tmp_path: Path
) -> None:
    with pytest.raises(FormatError, match=message):
        made().export(tmp_path / "t.model", format="boundless")
    assert not (tmp_path / "t.model").exists()


def test_no_pattern_is_one_that_matches_all(tmp_path: Path) -> None:
    words = train([TEXT], vocab_size=270, pattern=None)
    words.export(tmp_path / "t.model", format="boundless")
    assert load(tmp_path / "t.model").encode(TEXT) == words.encode(TEXT)


def test_arguments_that_the_file_has_are_refused(file: bytes) -> None:
    with pytest.raises(FormatError, match="pattern"):
        load(file, pattern="gpt2")
    assert load(file, special_tokens={"<x>": 300}).special_tokens == {"<x>": 300}


def test_the_file_is_recognised_by_its_content(file: bytes) -> None:
    assert boundless_model.recognise(file)
    assert not boundless_model.recognise(b"word v1\n")
    assert isinstance(fastbpe.load(file), Tokenizer)
