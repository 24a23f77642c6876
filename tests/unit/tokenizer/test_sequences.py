"""SequenceTokenizer and mode="ids": forms of input, bad input, files, values."""

from __future__ import annotations

import copy
import ctypes
import gc
import json
import pickle
from array import array
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, InvalidTokenError, OptionError, SequenceTokenizer, TrainingError, VocabularyError

TOKENIZER = SequenceTokenizer.from_merges([(0, 1), (4, 2)], base_size=4)


def train(source: Any, **options: Any) -> SequenceTokenizer:
    return fastbpe.train(source, mode="ids", **{"base_size": 4, "vocab_size": 5, "progress": False, **options})


# Input


@pytest.mark.parametrize(
    "sequence",
    [
        [0, 1, 2, 3],
        (0, 1, 2, 3),
        range(4),
        b"\0\1\2\3",
        bytearray(b"\0\1\2\3"),
        memoryview(b"\3\2\1\0")[::-1],
        *(array(code, [0, 1, 2, 3]) for code in "bBhHiIlLqQ"),
        (ctypes.c_int * 4)(0, 1, 2, 3),
        (ctypes.c_int32.__ctype_be__ * 4)(0, 1, 2, 3),
    ],
    ids=lambda sequence: type(sequence).__name__ + getattr(sequence, "typecode", ""),
)
def test_every_form_of_a_sequence_gives_the_same_ids(sequence: Any) -> None:
    assert TOKENIZER.encode(sequence) == [5, 3]
    assert TOKENIZER.encode_batch([sequence, sequence]) == [[5, 3], [5, 3]]
    assert TOKENIZER.count(sequence) == 2
    assert TOKENIZER.token_to_id(sequence) is None
    assert train([sequence] * 2).merges == train(sequence if isinstance(sequence, array) else [sequence]).merges


def test_every_dtype_of_numpy_gives_the_same_ids() -> None:
    numpy = pytest.importorskip("numpy")
    for code in numpy.typecodes["AllInteger"]:
        for order in "<>":
            one = numpy.array([0, 1, 2, 3], dtype=numpy.dtype(code).newbyteorder(order))
            assert TOKENIZER.encode(one) == [5, 3], (code, order)
            assert TOKENIZER.encode(numpy.repeat(one, 3)[::3]) == [5, 3]
            assert TOKENIZER.encode(memoryview(one)) == [5, 3]
            assert TOKENIZER.encode_batch(numpy.array([one, one[::-1]])) == [[5, 3], [3, 2, 1, 0]]
    assert TOKENIZER.encode(numpy.array([0, 1, 2, 3], dtype=object)) == [5, 3]
    assert TOKENIZER.encode([*numpy.arange(4)]) == [5, 3]
    assert TOKENIZER.encode(numpy.array([])) == []
    assert TOKENIZER.encode_batch(numpy.zeros((0, 3), dtype=int)) == []
    ids, offsets = TOKENIZER.encode_batch_to_numpy(iter([[0, 1], [], [2, 0, 1, 2]]))
    assert (ids.tolist(), offsets.tolist()) == ([4, 2, 5], [0, 1, 1, 3])
    assert (ids.dtype, offsets.dtype) == (numpy.uint32, numpy.int64)
    assert TOKENIZER.encode_to_numpy([0, 1]).tolist() == [4]
    assert TOKENIZER.decode_to_numpy(ids).tolist() == [0, 1, 2, 0, 1, 2]
    assert TOKENIZER.decode_batch(numpy.array([[4, 2], [5, 0]])) == [[0, 1, 2], [0, 1, 2, 0]]
    rows = numpy.array([[0, 1, 0], [1, 0, 1]], dtype=numpy.uint8)
    assert train(rows).merges == train([[0, 1, 0], [1, 0, 1]]).merges == [(0, 1)]


def test_objects_that_numpy_reads_are_sequences() -> None:
    numpy = pytest.importorskip("numpy")

    class Tensor:
        def __array__(self) -> Any:
            return numpy.array([0, 1, 2, 3])

    assert TOKENIZER.encode(Tensor()) == [5, 3]
    assert TOKENIZER.encode_batch([Tensor()]) == [[5, 3]]


def test_empty_sequences_have_no_ids() -> None:
    assert TOKENIZER.encode([]) == [] == TOKENIZER.decode(())
    assert TOKENIZER.encode_batch([]) == [] == TOKENIZER.decode_batch([])
    assert TOKENIZER.encode_batch([[], [1], []]) == [[], [1], []] == TOKENIZER.decode_batch([[], [1], []])
    assert TOKENIZER.token_to_id([]) is None


# Bad input


@pytest.mark.parametrize(
    ("sequence", "error", "message"),
    [
        ([0, 4], ValueError, "4 at position 1 is not a symbol: a base size of 4 allows 0 to 3"),
        ([0, -1], ValueError, "-1 at position 1 is not a symbol"),
        ([1 << 70], ValueError, "at position 0 is not a symbol"),
        (array("q", [0, 1, -5]), ValueError, "-5 at position 2 is not a symbol"),
        (array("Q", [(1 << 64) - 1]), ValueError, "18446744073709551615 at position 0"),
        ([0, 1.0], TypeError, "symbols must be integers: 1.0 at position 1 is float"),
        ([True], TypeError, "True at position 0 is bool"),
        ([None], TypeError, "None at position 0 is NoneType"),
        ([[0, 1]], TypeError, r"\[0, 1\] at position 0 is list"),
        (array("d", [0.0]), TypeError, "must contain integers, not items of buffer format 'd'"),
        ("0123", TypeError, "not str"),
        ({0: 1}, TypeError, "not dict"),
        (iter([0]), TypeError, "must be a list, tuple, range or array, not list_iterator"),
        (7, TypeError, "not int"),
        (None, TypeError, "not NoneType"),
    ],
)
def test_bad_sequence_raises_an_error_with_its_place(sequence: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        TOKENIZER.encode(sequence)
    with pytest.raises(error, match="sequence 2"):
        TOKENIZER.encode_batch([[0], (1,), sequence])
    with pytest.raises(error, match="sequence 1"):
        train([[0, 1], sequence])


def test_bad_arrays_raise_errors() -> None:
    numpy = pytest.importorskip("numpy")
    for bad, error in (
        (numpy.array([True, False]), TypeError),
        (numpy.array([0.0]), TypeError),
        (numpy.array(["a"]), TypeError),
        (numpy.array(["2020-01-01"], dtype="datetime64[D]"), TypeError),
        (numpy.array([numpy.True_], dtype=object), TypeError),
        (numpy.array([[0, 1]]), ValueError),
        (numpy.array(1), ValueError),
        (numpy.array([0, 9], dtype=">i4"), ValueError),
    ):
        with pytest.raises(error):
            TOKENIZER.encode(bad)
        with pytest.raises((TypeError, ValueError), match="sequence 0"):
            TOKENIZER.encode_batch([bad])
    for batch in (numpy.arange(3), numpy.zeros((1, 1, 1), dtype=int)):
        with pytest.raises(TypeError, match="array of two dimensions, but this array has"):
            TOKENIZER.encode_batch(batch)
    with pytest.raises(TypeError, match="but this array has 3"):
        train(numpy.zeros((1, 1, 1), dtype=int))


@pytest.mark.parametrize("batch", ["01", {1: 2}, 5, None, b"\0\1"])
def test_bad_batch_raises_type_error(batch: Any) -> None:
    with pytest.raises(TypeError, match=r"a batch (must be|is a dict)"):
        TOKENIZER.encode_batch(batch)
    with pytest.raises(TypeError, match=r"a batch (must be|is a dict)"):
        TOKENIZER.decode_batch(batch)


@pytest.mark.parametrize("source", [[0, 1, 0, 1], range(3)])
def test_single_sequence_in_place_of_a_batch_is_told_the_way_out(source: Any) -> None:
    with pytest.raises(TypeError, match=r"sequence 0: .*to pass one sequence, pass \[sequence\]"):
        train(source)
    with pytest.raises(TypeError, match=r"to pass one sequence, pass \[sequence\]"):
        TOKENIZER.encode_batch(source)


@pytest.mark.daily
def test_error_in_a_later_sequence_leaks_nothing() -> None:
    before = len(gc.get_objects())
    for _ in range(50):
        with pytest.raises(ValueError, match="sequence 1"):
            TOKENIZER.encode_batch([[0] * 1000, [0] * 1000 + [9]])
    gc.collect()
    assert len(gc.get_objects()) < before + 50


def test_list_that_changes_while_it_is_read_is_read_safely() -> None:
    items: list[Any] = []

    class Growing:
        def __index__(self) -> int:
            if len(items) < 500:
                items.extend([Growing()] * 7)
            return 0

    class Shrinking:
        def __index__(self) -> int:
            items.clear()
            return 0

    items.append(Growing())
    assert len(TOKENIZER.encode(items)) >= 500
    items[:] = [Shrinking()] * 40
    assert TOKENIZER.encode(items) == [0]


@pytest.mark.parametrize("ids", [[6], [0, 1 << 40], array("i", [-1])])
def test_id_without_a_token_raises_invalid_token_error(ids: Any) -> None:
    message = r"at position [01] is not a token .*its ordinary tokens have the ids 0 to 5\)"
    with pytest.raises(InvalidTokenError, match=message):
        TOKENIZER.decode(ids)
    with pytest.raises(InvalidTokenError, match="of sequence 1"):
        TOKENIZER.decode_batch([[0], ids])
    with pytest.raises(InvalidTokenError, match=r"^id \S+ is not a token .*have the ids 0 to 5\)$"):
        TOKENIZER.id_to_token(ids[-1])


def test_bad_id_in_a_view_of_a_ctypes_array_raises_invalid_token_error() -> None:
    with pytest.raises(InvalidTokenError, match="id 6 at position 1 is not a token"):
        TOKENIZER.decode(memoryview((ctypes.c_int * 2)(0, 6)))  # type: ignore[arg-type]


def test_ids_that_are_not_integers_raise_type_error() -> None:
    with pytest.raises(TypeError, match="ids must be integers: 'a' at position 1 is str"):
        TOKENIZER.decode([0, "a"])
    for token_id in ("a", True, 1.0):
        with pytest.raises(TypeError, match=f"^ids must be integers: {token_id!r} is "):
            TOKENIZER.id_to_token(token_id)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base_size": 0}, "base_size=0: must be the number of symbols, 1 to 1048576"),
        ({"base_size": -3}, "base_size=-3"),
        ({"base_size": (1 << 20) + 1, "vocab_size": 1 << 21}, "1 to 1048576"),
        ({"vocab_size": 3}, "vocab_size=3 is too small: it must be at least 4, for 4 symbols"),
        ({"vocab_size": 1 << 21}, "too large: the limit is 2097151"),
        ({"min_count": 0}, "min_count=0"),
        ({"max_token_length": 0}, "max_token_length=0"),
        ({"ties": "huggingface"}, 'ties="pair" is the same rule over integers'),
        ({"ties": "last"}, "choose one of 'pair', 'first'"),
        ({"separator": "x"}, "the source is sequences of integers: leave out separator="),
        ({"max_memory_bytes": 5}, "leave out max_memory_bytes="),
        (
            {"base": fastbpe.Tokenizer.from_merges([], pattern=None)},
            "mode='byte', which mode='ids' cannot extend: pass mode='byte'",
        ),
        ({"base": TOKENIZER, "vocab_size": 5}, "vocab_size=5 is too small: the base has 6 tokens"),
        (
            {"base": TOKENIZER, "vocab_size": 9, "base_size": 5},
            "base_size=5 does not match the base, which has 4 symbols",
        ),
        (
            {"base": TOKENIZER, "vocab_size": 9, "base_special": "keep"},
            "where special tokens cannot move; leave base",
        ),
        ({"base": TOKENIZER, "vocab_size": "+x"}, "put a number after the '\\+'"),
        ({"base": TOKENIZER, "vocab_size": "+\u0663"}, "put a number after the '\\+'"),
        ({"base": TOKENIZER, "vocab_size": "+" + "9" * 5000}, "too large: the limit is 2097151"),
        ({"vocab_size": "+1"}, r"vocab_size='\+1' needs a base to add to; pass base="),
        ({"base": TOKENIZER, "vocab_size": 1 << 21}, "too large: the limit is 2097151"),
    ],
)
def test_bad_option_of_training_raises_training_error(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TrainingError, match=message):
        train([[0, 1]], **options)


@pytest.mark.parametrize(("mode", "other"), [("byte", "codepoint"), ("codepoint", "byte")])
def test_base_of_another_mode_raises_value_error_that_names_both_modes(mode: str, other: str) -> None:
    options: dict[str, Any] = {"vocab_size": 300, "progress": False}
    bases: dict[str, Any] = {"byte": fastbpe.Tokenizer.from_merges([], pattern=None), "ids": TOKENIZER}
    bases["codepoint"] = fastbpe.train(
        ["ab abc"], vocab_size=12, mode="codepoint", byte_fallback=False, progress=False
    )
    for kind in (other, "ids"):
        with pytest.raises(
            ValueError, match=f"base= is a tokenizer of mode='{kind}', which mode='{mode}' cannot extend"
        ):
            fastbpe.train(["ab"], mode=mode, base=bases[kind], **options)
        with pytest.raises(ValueError, match=f"base= is a tokenizer of mode='{kind}'"):
            fastbpe.count_pieces(["ab"], mode=mode, base=bases[kind])
    with pytest.raises(ValueError, match=f"base= is a tokenizer of mode='{mode}', which mode='ids' cannot extend"):
        fastbpe.train([[0, 1]], mode="ids", base=bases[mode], **options)


def test_symbols_beyond_the_base_raise_value_error_and_leave_the_base_as_it_was() -> None:
    before = TOKENIZER.merges
    with pytest.raises(
        ValueError, match="4 at position 1 of sequence 0 is not a symbol: a base size of 4 allows 0 to 3"
    ):
        fastbpe.train([[0, 4]], mode="ids", base=TOKENIZER, vocab_size="+1", progress=False)
    assert TOKENIZER.merges == before


def test_base_keeps_its_ids_and_the_report_names_it() -> None:
    extended: Any = fastbpe.train([[0, 1, 2, 3] * 4], mode="ids", base=TOKENIZER, vocab_size="+2", progress=False)
    assert extended.merges == [(0, 1), (4, 2), (5, 3), (6, 6)]
    report = extended.training_report
    assert (report["base"], report["n_merges"], report["vocab_size"]) == (TOKENIZER.fingerprint, 2, 8)
    same: Any = fastbpe.train([[0]], mode="ids", base=TOKENIZER, vocab_size="+0", progress=False)
    assert same == TOKENIZER


def test_id_map_keeps_old_ids_and_starts_new_rows_from_the_old_ids_of_their_symbols() -> None:
    numpy = pytest.importorskip("numpy")
    extended: Any = fastbpe.train([[0, 1, 2, 3] * 4], mode="ids", base=TOKENIZER, vocab_size="+2", progress=False)
    id_map = extended.id_map(TOKENIZER)
    assert id_map.old_to_new.tolist() == [*range(6)]
    assert id_map.init_from[6:] == ((5, 3), (5, 3, 5, 3))
    assert [*id_map.init_from[6:]] == [tuple(TOKENIZER.encode(extended.id_to_token(i))) for i in (6, 7)]
    assert id_map.resize(numpy.arange(6.0))[6:].tolist() == [4, 4]
    with pytest.raises(ValueError, match="6 ids"):
        id_map.resize(numpy.zeros((8, 2)))


def test_id_map_of_doubled_merges_takes_the_first_old_ids() -> None:
    doubled = [(i, i) for i in range(5, 33)]  # the last one joins 2**28 times the ids 4 and 2
    old = SequenceTokenizer.from_merges([(0, 1)], base_size=4)
    id_map = SequenceTokenizer.from_merges([(0, 1), (4, 2), *doubled], base_size=4).id_map(old)
    assert id_map.init_from[5:8] == ((4, 2), (4, 2) * 2, (4, 2) * 4)
    assert id_map.init_from[-1] == (4, 2) * 512


@pytest.mark.parametrize(
    ("merges", "base_size"), [([(0, 1), (4, 3)], 4), ([(0, 1), (4, 2), (5, 5)], 4), ([(0, 1), (4, 2)], 5)]
)
def test_id_map_of_a_tokenizer_that_is_not_extended_raises_value_error(
    merges: list[tuple[int, int]], base_size: int
) -> None:
    with pytest.raises(ValueError, match="does not extend"):
        TOKENIZER.id_map(SequenceTokenizer.from_merges(merges, base_size=base_size))
    with pytest.raises(TypeError, match="old must be a SequenceTokenizer, not Tokenizer"):
        TOKENIZER.id_map(fastbpe.Tokenizer.from_merges([], pattern=None))  # type: ignore[arg-type]


def test_too_little_to_merge_behind_a_base_warns_of_the_size_reached() -> None:
    with pytest.warns(fastbpe.TrainingWarning, match="has 7 entries, not the 9 asked for"):
        fastbpe.train([[0, 1, 2, 3]], mode="ids", base=TOKENIZER, vocab_size=9, progress=False)


@pytest.mark.parametrize("name", ["base_size", "vocab_size", "min_count", "max_token_length"])
@pytest.mark.parametrize("value", [1.5, "4", True])
def test_option_that_is_not_an_integer_raises_type_error(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"{name} must be an integer"):
        train([[0, 1]], **{name: value})


def test_id_to_token_names_a_special_token_without_impossible_advice() -> None:
    tokenizer = SequenceTokenizer.from_merges([(0, 1)], base_size=4, special_tokens=["<end>"])
    with pytest.raises(InvalidTokenError, match=r"id 5 is the special token '<end>', .* no symbols$"):
        tokenizer.id_to_token(5)


def test_options_of_other_modes_are_refused() -> None:
    with pytest.raises(
        OptionError,
        match=r"pattern= is not an option of training in ids mode: it is available only with mode='byte'$",
    ):
        train([[0, 1]], pattern=None)
    with pytest.raises(OptionError, match="did you mean max_token_length"):
        train([[0, 1]], max_token_lenght=3)
    with pytest.raises(OptionError, match="it is available only with mode='ids'"):
        fastbpe.train(["ab"], vocab_size=300, base_size=4)
    with pytest.raises(OptionError, match=r"it is available only with mode='byte' or mode='ids'$"):
        fastbpe.train(["ab"], mode="codepoint", vocab_size=300, ties="pair")
    with pytest.raises(OptionError, match=r"it is available only with mode='codepoint' or mode='unigram'$"):
        fastbpe.train(["ab"], vocab_size=300, character_coverage=1.0)
    with pytest.raises(OptionError, match="needs base=, or base_size="):
        fastbpe.train([[0]], mode="ids", vocab_size=300)
    with pytest.raises(TypeError, match=r"^the source must be an iterable of sequences, not str; load the "):
        train("f.npy")


@pytest.mark.parametrize("option", [{"num_threads": 2}, {"num_threads": 1}, {"max_memory_bytes": 1 << 20}])
def test_options_for_reading_text_are_refused(option: dict[str, int]) -> None:
    message = rf"^the source is sequences of integers: leave out {next(iter(option))}=$"
    with pytest.raises(TrainingError, match=message):
        train([[0, 1]], **option)


@pytest.mark.parametrize("source", [[], [[]], [(), b""], {}, {(0, 1): 0}])
def test_training_without_pairs_raises_or_warns(source: Any) -> None:
    if source == {(0, 1): 0}:
        with pytest.warns(fastbpe.TrainingWarning, match="no pair is left"):
            assert train(source).merges == []
    else:
        with pytest.raises(TrainingError, match="nothing to learn from"):
            train(source)


def test_counts_out_of_range_raise() -> None:
    with pytest.raises(TrainingError, match="the count of sequence 1 is -1"):
        train({(0, 1): 1, (1, 0): -1})
    with pytest.raises(TypeError, match="the count of sequence 0 must be an integer"):
        train({(0, 1): 1.5})
    for counts in ({(0, 1): 1 << 63}, {(0, 1): 1 << 62}, {(0,): 1 << 62, (1,): 1 << 62}):
        with pytest.raises(OverflowError):
            train(counts)
    assert train({(0, 1): 1 << 61, (1, 2): (1 << 61) - 1}).merges == [(0, 1)]


def test_warning_names_the_limit_that_stopped_training() -> None:
    with pytest.warns(
        fastbpe.TrainingWarning, match="max_token_length=2 leaves no pair to merge: the vocabulary has 5"
    ):
        train([[0, 1, 2]], vocab_size=9, max_token_length=2)


def test_progress_reports_symbols_and_merges() -> None:
    told: list[tuple[str, int, int | None]] = []
    train([[0, 1, 0, 1]], progress=lambda *said: told.append(said))
    assert told[0] == ("counting", 0, None)
    assert ("counting", 4, None) in told
    assert told[-1] == ("learning", 1, 1)


def test_report_tells_options_and_numbers() -> None:
    report = train([[0, 1], [1]], ties="first").training_report
    assert {
        "ties": "first",
        "n_symbols": 3,
        "n_sequences": 2,
        "n_merges": 1,
        "base_size": 4,
    }.items() <= report.items()


# Merges


@pytest.mark.parametrize(
    ("merges", "message"),
    [
        ([(0, 4)], r"merge 0: \(0, 4\) -> 4 names an id that no earlier merge makes"),
        ([(0, 1), (-1, 0)], "merge 1"),
        ([(0, 1), (1, 2), (0, 1)], r"merge 2: the pair \(0, 1\) appears twice"),
        ([(0, 0)] + [(i, i) for i in range(4, 40)], "is too long"),
    ],
)
def test_bad_merges_raise_vocabulary_error(merges: list[tuple[int, int]], message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        SequenceTokenizer.from_merges(merges, base_size=4)


def test_longest_token_has_a_length_of_32_bits() -> None:
    doubled = [(0, 0), *((i, i) for i in range(1, 31))]  # 2, 4, … 2**31 symbols
    merges = [*doubled, (31, 30), *((i, 61 - i) for i in range(32, 62))]  # 2**31 + 2**30, … 2**32 - 1
    tokenizer = SequenceTokenizer.from_merges(merges, base_size=1)
    assert tokenizer.encode([0] * 7) == [2, 1, 0]
    with pytest.raises(VocabularyError, match=r"a token of 4294967296 symbols is too long"):
        SequenceTokenizer.from_merges([*merges, (62, 0)], base_size=1)


def test_bad_base_size_raises_vocabulary_error() -> None:
    for size in (0, -1, (1 << 20) + 1, 1 << 80):
        with pytest.raises(VocabularyError, match="base_size"):
            SequenceTokenizer.from_merges([], base_size=size)
    assert SequenceTokenizer.from_merges([], base_size=1 << 20).encode([(1 << 20) - 1]) == [(1 << 20) - 1]


def test_lowest_of_equal_tokens_is_found() -> None:
    tokenizer = SequenceTokenizer.from_merges([(0, 1), (1, 2), (4, 2), (0, 5)], base_size=4)
    assert tokenizer.id_to_token(6) == tokenizer.id_to_token(7) == (0, 1, 2)
    assert tokenizer.token_to_id((0, 1, 2)) == 6


@pytest.mark.daily
def test_tokens_of_many_merges_decode_in_linear_memory() -> None:
    n = 100_000
    left = SequenceTokenizer.from_merges([(0, 1), *((i, 1) for i in range(2, n))], base_size=2)
    assert left.decode([left.n_vocab - 1]) == [0] + [1] * (n - 1)
    right = SequenceTokenizer.from_merges([(1, 0), *((1, i) for i in range(2, n))], base_size=2)
    assert right.decode([right.n_vocab - 1]) == [1] * (n - 1) + [0]


def test_properties_tell_sizes_and_mode() -> None:
    assert (TOKENIZER.base_size, TOKENIZER.vocab_size, TOKENIZER.n_vocab, TOKENIZER.mode) == (4, 6, 6, "ids")
    assert TOKENIZER.merges == [(0, 1), (4, 2)]
    assert repr(TOKENIZER) == f"<fastbpe.SequenceTokenizer of 4 symbols, 6 tokens, {TOKENIZER.fingerprint[:12]}>"


# Files and values


def test_saved_tokenizer_loads_as_it_was(tmp_path: Path) -> None:
    tokenizer = train([[0, 1, 2, 0, 1]], vocab_size=6)
    path = tmp_path / "codes.fbpe"
    tokenizer.save(path)
    for loaded in (fastbpe.load(path), SequenceTokenizer.load(path), fastbpe.load(path.read_bytes())):
        assert isinstance(loaded, SequenceTokenizer)
        assert loaded == tokenizer
        assert hash(loaded) == hash(tokenizer)
        assert loaded.fingerprint == tokenizer.fingerprint
        assert loaded.training_report == tokenizer.training_report
    for twin in (pickle.loads(pickle.dumps(tokenizer)), copy.copy(tokenizer), copy.deepcopy(tokenizer)):
        assert twin == tokenizer
    assert pickle.dumps(tokenizer) == pickle.dumps(tokenizer)
    assert tokenizer != SequenceTokenizer.from_merges(tokenizer.merges, base_size=5)
    assert tokenizer != "tokenizer"


def test_every_damage_of_a_file_raises_format_error(tmp_path: Path) -> None:
    path = tmp_path / "codes.fbpe"
    TOKENIZER.save(path)
    whole = path.read_bytes()
    for n in range(len(whole)):
        with pytest.raises(FormatError):
            fastbpe.load(whole[:n])
        altered = bytearray(whole)
        altered[n] ^= 0x15
        with pytest.raises(FormatError):
            fastbpe.load(bytes(altered))


@pytest.mark.parametrize(
    ("base_size", "merges"),
    [
        (0, b""),
        (-4, b""),
        (1 << 40, b""),
        (True, b""),
        ("4", b""),
        (4, b"\0" * 7),
        (4, b"\7" * 8),
        (4, b"\0" * 16),
    ],
)
def test_file_with_a_valid_checksum_and_bad_content_raises_format_error(base_size: Any, merges: bytes) -> None:
    from fastbpe.formats.container import pack
    from fastbpe.formats.sequence_tokenizer_file import KIND

    header = {"mode": "ids", "base_size": base_size, "training": {}}
    with pytest.raises(FormatError, match="<bytes>"):
        fastbpe.load(b"".join(pack(KIND, header, {"merges": merges})))  # type: ignore[arg-type]


@pytest.mark.parametrize("special", [{"<a>": 0}, {"<a>": 1 << 30}, {"": 9}, {"<a>": 9, "<b>": 9}])
def test_file_with_bad_special_tokens_raises_format_error(special: dict[str, int]) -> None:
    from fastbpe.formats.sequence_tokenizer_file import SequenceModel, dump

    data = bytes(dump(SequenceModel(4, b"", {}, special)))
    with pytest.raises(FormatError, match=r"<bytes>: .*special token"):
        fastbpe.load(data)


def test_arguments_for_text_are_refused_in_loading(tmp_path: Path) -> None:
    path = tmp_path / "codes.fbpe"
    TOKENIZER.save(path)
    with pytest.raises(FormatError, match="pattern= is for text"):
        fastbpe.load(path, pattern="gpt2")
    with pytest.raises(FormatError, match="special_tokens= is for text"):
        fastbpe.load(path, special_tokens=["<s>"])
    with pytest.raises(FormatError, match="a tokenizer of sequences of integers, not of text"):
        fastbpe.load(tmp_path)
    with pytest.raises(FormatError, match="does not begin with"):
        SequenceTokenizer.load(fastbpe.train(["ab"], vocab_size=256, progress=False).__reduce__()[1][1])
    with pytest.raises(TypeError, match="model must be a SequenceModel"):
        SequenceTokenizer(json)  # type: ignore[arg-type]


def test_commands_for_text_refuse_a_tokenizer_of_sequences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from fastbpe.cli.command_line import main

    path = tmp_path / "codes.fbpe"
    TOKENIZER.save(path)
    text = tmp_path / "text.txt"
    text.write_text("ab")
    assert main(["count", "-m", str(path), str(text)]) == 1
    assert "encodes sequences of integers, but the command needs a tokenizer of text" in capsys.readouterr().err
