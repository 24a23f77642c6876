"""Bad input to the constructor and methods: an error of the expected class names the thing and a way out.

Special tokens, decoding, training and files have test files of their own.
"""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import (
    FastbpeError,
    FormatError,
    InvalidTokenError,
    PatternError,
    Tokenizer,
    TrainingError,
    VocabularyError,
)
from fastbpe.errors import SpecialTokenError
from helpers.shared_data import BYTES


@pytest.fixture
def tokenizer() -> Tokenizer:
    return Tokenizer.from_ranks(BYTES, pattern=None, special_tokens={"<s>": 256})


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (FormatError, ValueError),
        (InvalidTokenError, KeyError),
        (PatternError, ValueError),
        (SpecialTokenError, ValueError),
        (TrainingError, ValueError),
        (VocabularyError, ValueError),
    ],
)
def test_errors_are_subclasses_of_builtin_errors(error: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(error, FastbpeError)
    assert issubclass(error, builtin)
    assert str(error("a sentence, as it is")) == "a sentence, as it is"


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        ({}, "no token is the single byte 0x00: a byte-level vocabulary must have all 256"),
        ({b"a": 0, b"b": 1}, "no token is the single byte 0x00"),
        ({token: rank for token, rank in BYTES.items() if rank != 0xC3}, "no token is the single byte 0xc3"),
        ({**BYTES, b"ab": 97}, r"tokens b'a' and b'ab' have the same rank 97"),
        ({**BYTES, b"ab": 300, b"bc": 300}, r"tokens b'ab' and b'bc' have the same rank 300"),
        ({**BYTES, b"ab": -1}, r"token b'ab' has the rank -1, which is not an integer from 0 to 16777215"),
        ({**BYTES, b"ab": 2**24}, r"token b'ab' has the rank 16777216, which is not"),
        ({**BYTES, b"ab": 2**32}, r"token b'ab' has the rank 4294967296, which is not"),
        ({**BYTES, b"ab": 2**70}, r"token b'ab' has the rank"),
        ({**BYTES, b"ab": 256.0}, r"token b'ab' has the rank 256\.0"),
        ({**BYTES, b"ab": "256"}, r"token b'ab' has the rank '256'"),
        ({**BYTES, b"ab": None}, r"token b'ab' has the rank None"),
        ({**BYTES, b"": "256"}, r"token b'' has the rank '256'"),
        ({**BYTES, b"": None}, r"token b'' has the rank None"),
        ({**BYTES, "": 256}, "token '' must be bytes"),
        ({**BYTES, "ab": 256}, "token 'ab' must be bytes"),
        ({**BYTES, 5: 256}, "token 5 must be bytes"),
    ],
)
def test_invalid_ranks_raise_vocabulary_error(ranks: Any, message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        Tokenizer.from_ranks(ranks, pattern=None)


def test_ranks_and_sizes_may_be_any_integer_type() -> None:
    numpy = pytest.importorskip("numpy")
    ranks = {token: numpy.uint8(rank) for token, rank in BYTES.items()}
    assert Tokenizer.from_ranks(ranks, pattern=None, cache_bytes=2**70).encode("ab") == [97, 98]


@pytest.mark.parametrize("pattern", [5, b"a+", [5], ["a", None], [["a"]], [], 1.5])
def test_pattern_of_wrong_type_is_refused(pattern: Any) -> None:
    with pytest.raises((TypeError, PatternError), match="pattern"):
        Tokenizer.from_ranks(BYTES, pattern=pattern)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(", r"split pattern, position 0 .*expected '\)'"),
        (
            "a*",
            r"split pattern 'a\*' can match the empty string.*in place of",
        ),
        ("gpt3.5_turbo|(", "split pattern"),
        ("o200k_base", "no split pattern named 'o200k_base', did you mean 'o200k'"),
        ("gpt9x", "no split pattern named 'gpt9x'.*fastbpe knows gpt2"),
    ],
)
def test_invalid_pattern_raises_pattern_error(pattern: str, message: str) -> None:
    for call in (
        lambda: Tokenizer.from_ranks(BYTES, pattern=pattern),
        lambda: fastbpe.train(["a"], vocab_size=256, pattern=pattern),
    ):
        with pytest.raises(PatternError, match=message):
            call()


@pytest.mark.parametrize("text", [None, 5, 1.5, ["a"], {"a": 1}, object()])
@pytest.mark.parametrize("method", ["encode", "encode_ordinary", "encode_to_numpy", "count"])
def test_text_of_wrong_type_raises_type_error(tokenizer: Tokenizer, method: str, text: Any) -> None:
    with pytest.raises(TypeError, match=f"text must be str, or bytes of UTF-8, not {type(text).__name__}"):
        getattr(tokenizer, method)(text)


@pytest.mark.parametrize("n_before", [0, 3, 70_000])
@pytest.mark.parametrize("num_threads", [1, 2])
def test_text_of_wrong_type_in_a_batch_is_named_by_index(
    tokenizer: Tokenizer, n_before: int, num_threads: int
) -> None:
    texts: list[Any] = ["abcdefgh"] * n_before + [float("nan"), "a"]
    for method in (tokenizer.encode_batch, tokenizer.encode_batch_to_numpy, tokenizer.count_batch):
        with pytest.raises(TypeError, match=rf"texts\[{n_before}\]: text must be str, .* not float"):
            method(texts, num_threads=num_threads)
    if n_before:
        texts[n_before - 1] = b"\xff"
        with pytest.raises(ValueError, match="0xff"):  # the error of the earlier text is raised
            tokenizer.encode_batch(texts, num_threads=num_threads)


@pytest.mark.parametrize("model", ["small.fbpe", None, {b"a": 0}])
def test_constructor_refuses_anything_but_a_model(model: Any) -> None:
    with pytest.raises(TypeError, match=rf"not {type(model).__name__}; fastbpe\.load reads a file"):
        Tokenizer(model)


@pytest.mark.parametrize("token", [None, 5, 1.5, ["a"]])
def test_token_of_wrong_type_raises_type_error(tokenizer: Tokenizer, token: Any) -> None:
    with pytest.raises(TypeError, match=f"token must be bytes or str, not {type(token).__name__}"):
        tokenizer.token_to_id(token)


@pytest.mark.parametrize("token_id", [257, -1, 2**32, 2**64])
def test_unknown_id_raises_invalid_token_error(tokenizer: Tokenizer, token_id: int) -> None:
    for method in (tokenizer.id_to_token, lambda i: tokenizer.decode_tokens_bytes([i])):
        with pytest.raises(InvalidTokenError, match=rf"id {token_id} .*between 0 and 256"):
            method(token_id)


@pytest.mark.parametrize("token_id", [None, 1.0, "1", [1], True])
def test_id_that_is_not_an_integer_raises_type_error(tokenizer: Tokenizer, token_id: Any) -> None:
    several = tokenizer.decode_tokens_bytes
    for method, place in ((tokenizer.id_to_token, ""), (lambda i: several([i]), " at position 0")):
        with pytest.raises(TypeError, match=f"ids must be integers: {re.escape(repr(token_id))}{place} is "):
            method(token_id)


@pytest.mark.parametrize("item", ["1" * 1000, [1] * 1000, [10**5000]], ids=["text", "ids", "huge"])
def test_item_that_is_no_id_is_cut_off_in_the_error(tokenizer: Tokenizer, item: Any) -> None:
    with pytest.raises(TypeError, match=r"^ids must be integers: .{10,100} at position 0 is (str|list)$"):
        tokenizer.decode([item])


@pytest.mark.parametrize("errors", [5, None, b"strict"])
def test_errors_option_of_another_type_is_named(tokenizer: Tokenizer, errors: Any) -> None:
    for call in (tokenizer.decode, tokenizer.decode_batch):
        with pytest.raises(TypeError, match=f"errors must be the name of an error handler, .*not {errors!r}"):
            call([], errors=errors)


@pytest.mark.parametrize("errors", ["nonsense", ""])
def test_unknown_errors_option_is_refused_even_for_valid_text(tokenizer: Tokenizer, errors: str) -> None:
    for ids in ([97], [255]):
        with pytest.raises((ValueError, LookupError), match=r"strict|nonsense|''"):
            tokenizer.decode(ids, errors=errors)


@pytest.mark.parametrize("parts", ["ab", [("a",)], [("a", True, 1)], ["a"], [5], None])
def test_invalid_parts_are_refused(tokenizer: Tokenizer, parts: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"parts|\(text, trusted\)"):
        tokenizer.encode_parts(parts)


def test_parts_are_read_before_foreign_code_runs(tokenizer: Tokenizer) -> None:
    part: list[Any] = ["ab"]

    class Clears:
        def __bool__(self) -> bool:
            part.clear()
            return True

    part.append(Clears())
    assert tokenizer.encode_parts([part]) == [97, 98]


def test_errors_of_parts_name_the_part(tokenizer: Tokenizer) -> None:
    for bad in (b"\xff", 5):
        with pytest.raises((ValueError, TypeError)) as caught:
            tokenizer.encode_parts([("a", True), (bad, False)])
        assert caught.value.__notes__ == ["for parts[1]"]


@pytest.mark.parametrize("text", ["a<s>", b"a<s>", bytearray(b"a<s>"), memoryview(b"a<s>")])
def test_disallowed_tokens_are_found_in_every_type_of_text(tokenizer: Tokenizer, text: Any) -> None:
    calls: list[Callable[..., Any]] = [
        tokenizer.encode,
        tokenizer.count,
        lambda text, **more: tokenizer.chunk(text, 2, **more),
        lambda text, **more: tokenizer.truncate(text, 2, **more),
        lambda text, **more: tokenizer.fits(text, 2, **more),
        lambda text, **more: tokenizer.count_batch([text], **more),
    ]
    for call in calls:
        with pytest.raises(SpecialTokenError, match="<s>"):
            call(text, disallowed_special="all")


def test_wrong_arguments_are_refused_where_they_are_not_needed(tokenizer: Tokenizer) -> None:
    for call in (
        lambda: tokenizer.count("ab", max_tokens=5, num_threads="x"),  # type: ignore[arg-type]
        lambda: tokenizer.encode_batch([], num_threads="x"),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match="num_threads"):
            call()
    with pytest.raises(SpecialTokenError, match="special token 1 is int, not str"):
        tokenizer.encode("a", disallowed_special=("<s>", 1))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"dropout=1000.*: must be a probability from 0 to 1"):
        tokenizer.encode("a", dropout=10**400)


@pytest.mark.parametrize("name", ["seed", "unit", "allowed_special"])
def test_errors_do_not_repeat_a_long_argument(tokenizer: Tokenizer, name: str) -> None:
    with pytest.raises(ValueError, match=name) as caught:
        (tokenizer.encode if name == "seed" else tokenizer.encode_with_offsets)("a", **{name: "y" * 10**5})
    assert len(str(caught.value)) < 250


def test_tokenizer_stays_usable_after_errors(tokenizer: Tokenizer) -> None:
    for _ in range(3):
        for wrong in (None, b"\xff", "<s>"):
            with pytest.raises((TypeError, ValueError)):
                tokenizer.encode(wrong)  # type: ignore[arg-type]
            with pytest.raises((TypeError, ValueError)):
                tokenizer.encode_batch(["a", wrong])  # type: ignore[list-item]
            with pytest.raises((TypeError, ValueError)):
                tokenizer.encode_batch_to_numpy(["a" * 1000, wrong])  # type: ignore[list-item]
        assert tokenizer.encode("abc") == [97, 98, 99]
        assert tokenizer.encode_batch(["abc", ""]) == [[97, 98, 99], []]


@pytest.mark.parametrize("num_threads", [1, 2])
@pytest.mark.parametrize("n_before", [0, 3, 70_000])
def test_batch_errors_name_the_first_bad_text(code_tokenizer: Tokenizer, num_threads: int, n_before: int) -> None:
    """The error names the first bad text, also if texts come from an iterator or fill several batches."""
    t = code_tokenizer
    long = "words of a text " * 40_000  # long enough for threads to be used
    bad_texts = (("a<|sep|>b", "disallowed"), (b"\xff", "UTF-8"))
    for bad, message in bad_texts:
        texts = ["a"] * n_before + [bad, long, b"\xfe", long]
        calls: list[Callable[[], Any]] = [
            lambda texts=texts: t.encode_batch(iter(texts), num_threads=num_threads),
            lambda texts=texts: t.encode_batch_to_numpy(texts, num_threads=num_threads),
        ]
        if message == "UTF-8":
            calls.append(lambda texts=texts: t.count_batch(texts, num_threads=num_threads))
        for call in calls:
            with pytest.raises(ValueError, match=message) as raised:
                call()
            assert raised.value.__notes__ == [f"for texts[{n_before}]"]
    many = [97] * 150_000
    bad_ids: list[Any] = [[10**9], ["x"], 3, [0x80]]
    for ids in bad_ids:
        batch = [[97]] * n_before + [ids, many, [10**9]]
        with pytest.raises((KeyError, TypeError, ValueError)) as refused:
            t.decode_batch(iter(batch), errors="strict", num_threads=num_threads)
        assert refused.value.__notes__ == [f"for batch[{n_before}]"]


@pytest.mark.parametrize("special_tokens", [["<s>"], {"<s>"}, "<s>", 5])
def test_special_tokens_without_ids_raise_type_error(special_tokens: Any) -> None:
    for make in (Tokenizer.from_ranks, Tokenizer.from_merges):
        with pytest.raises(TypeError, match=r"special_tokens must be a dict of texts to ids, not .*with_special"):
            make(BYTES if make == Tokenizer.from_ranks else [], pattern=None, special_tokens=special_tokens)


@pytest.mark.parametrize(
    "call",
    [
        lambda wrong: fastbpe.joins(wrong, "a", "b"),
        lambda wrong: fastbpe.steps(wrong),
        lambda wrong: fastbpe.merge_tree(wrong, "a"),
        lambda wrong: fastbpe.show(wrong, "a"),
        lambda wrong: asyncio.run(fastbpe.aencode(wrong, "a")),
        lambda wrong: asyncio.run(fastbpe.aencode_batch(wrong, ["a"])),
        lambda wrong: fastbpe.open_ids("no.bin", tokenizer=wrong),
    ],
)
def test_functions_of_a_tokenizer_name_another_object(call: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError, match=r"tokenizer must be a Tokenizer, not int; use fastbpe\.load"):
        call(5)


@pytest.mark.parametrize("text", [None, b"\xff" * 2000, "<s>" * 2000])
def test_errors_of_the_only_text_have_no_index(tokenizer: Tokenizer, text: Any) -> None:
    calls: list[Callable[[], object]] = [
        lambda: tokenizer.encode(text),
        lambda: tokenizer.encode_to_numpy(text),
        lambda: tokenizer.encode_to_numpy(text, num_threads=2),
        lambda: tokenizer.encode_to_numpy(text, dropout=0.1),
        lambda: asyncio.run(fastbpe.aencode(tokenizer, text)),
    ]
    for call in calls:
        with pytest.raises((TypeError, ValueError)) as caught:
            call()
        assert "texts[" not in str(caught.value)
        assert not getattr(caught.value, "__notes__", None)
    for batch in ([text], (text,)):
        with pytest.raises((TypeError, ValueError)) as caught:
            tokenizer.encode_batch_to_numpy(batch)
        assert "texts[0]" in str(caught.value) + str(getattr(caught.value, "__notes__", ""))


@pytest.mark.parametrize("n_bytes", [1, 300_000])
def test_error_of_the_only_counted_text_has_no_index(tokenizer: Tokenizer, n_bytes: int) -> None:
    for options in ({}, {"max_tokens": 5}, {"num_threads": 2}):
        with pytest.raises(ValueError, match="text is not UTF-8") as caught:
            tokenizer.count(b"\xff" * n_bytes, **options)  # type: ignore[arg-type]
        assert not getattr(caught.value, "__notes__", None)


@pytest.mark.parametrize("wrong", [3, b"a", ["a"]])
def test_verify_text_of_wrong_type_is_refused_before_writing(
    tokenizer: Tokenizer, tmp_path: Path, wrong: Any
) -> None:
    with pytest.raises(TypeError, match=f"verify_text must be str or None, not {type(wrong).__name__}"):
        tokenizer.export(tmp_path / "a.json", format="huggingface", verify_text=wrong)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("wrong", [None, 5, ["a"]])
def test_load_names_an_argument_of_wrong_type(wrong: Any) -> None:
    with pytest.raises(TypeError, match=rf"^path_or_bytes must be a path, .*, not {type(wrong).__name__}$"):
        fastbpe.load(wrong)


def test_merges_that_double_the_longest_token_again_and_again_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fastbpe.tokenizer.plain_models.MAX_BYTES", 256 + 2 + 4 + 8)
    doubling = [(97, 97), (256, 256), (257, 257), (258, 258)]
    assert Tokenizer.from_merges(doubling[:3], pattern=None).encode("a" * 8) == [258]
    with pytest.raises(VocabularyError, match="merge 3: the tokens up to here have more than 270 bytes"):
        Tokenizer.from_merges(doubling, pattern=None)
