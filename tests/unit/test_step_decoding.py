"""StepDecoding: decoders of a tokenizer.json over vocabularies of texts; made cases, without tokenizers."""

from __future__ import annotations

import array
import contextlib
import copy
import ctypes
import random
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

from fastbpe.errors import FormatError, InvalidTokenError, PatternError
from fastbpe.formats.huggingface.decoder_json import canonical, flattened
from fastbpe.normalization.decoder_steps import apply, find_plan, make_steps
from fastbpe.tokenizer.families.step_decoding import StepDecoding
from helpers.bounds import within

BPE: list[dict[str, Any]] = [{"type": "BPEDecoder", "suffix": "</w>"}]
BYTES: dict[str, Any] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
FALLBACK: dict[str, Any] = {"type": "ByteFallback"}
FUSE: dict[str, Any] = {"type": "Fuse"}
STRIP: dict[str, Any] = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
TO_SPACE: dict[str, Any] = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
LLAMA = [TO_SPACE, FALLBACK, FUSE, STRIP]
METASPACE: dict[str, Any] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
CHATGLM = [FALLBACK, METASPACE]
WORDS: dict[str, Any] = {"type": "WordPiece", "prefix": "##", "cleanup": True}
CTC: dict[str, Any] = {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True}


def of(steps: list[dict[str, Any]] | None, tokens: list[str], special: list[int] | None = None) -> StepDecoding:
    return StepDecoding(steps, [token.encode() for token in tokens], special or [])


CASES: list[tuple[list[dict[str, Any]] | None, list[str], str]] = [
    (BPE, ["a</w>", "b", "c</w>", "d</w>"], "a bc d"),
    (BPE, ["a</w>"], "a"),
    ([{"type": "BPEDecoder", "suffix": ""}], ["ab", "c"], " a b c"),
    (None, ["a", "b", "c"], "a b c"),
    ([], ["a", "b"], "ab"),
    ([WORDS], ["##a", "##b", "c", ".", " do not"], "##ab c.  don't"),
    ([FUSE, CTC, {**CTC, "word_delimiter_token": ""}], ["<pad>"], ""),
    ([{**WORDS, "cleanup": False}], ["a", "##b", "c", "."], "ab c ."),
    ([METASPACE], ["▁▁a", "▁b", "▁"], "a b "),
    ([{**METASPACE, "prepend_scheme": "never"}], ["▁a", "▁b"], " a b"),
    ([CTC], ["a", "a", "<pad>", "a", "|", "|", "b", " ."], "aa b."),
    (LLAMA, ["▁a", "▁", "<0xE2>", "<0x96>", "<0x81>", "b"], "a ▁b"),
    (LLAMA, ["<0x20>", "a"], "a"),
    (LLAMA, ["a", "<0xC3>", "<0x41>", "b"], "a\ufffd\ufffdb"),
    ([FALLBACK], ["<0x+1>", "<0x-1>", "<0xfF>"], "\x01<0x-1>\ufffd"),
    ([FALLBACK, FUSE], ["<0xE2>", "▁", "<0x96>", "<0x81>"], "\ufffd▁\ufffd\ufffd"),
    (CHATGLM, ["▁a", "▁b", "<0xE2>", "<0x96>", "<0x81>", "c"], "a b c"),
    (CHATGLM, ["<0xFF>", "<0xFE>", "▁a"], "\ufffd\ufffd a"),
    (CHATGLM, ["<0xE2>", "<0x96>", "<0x81>"], ""),
    (CHATGLM, ["▁a", "<0xFF>", "<0xFE>"], "a\ufffd\ufffd"),
    ([FALLBACK, WORDS], ["<0xFF>", "<0xFE>", "a", "<0x41>", "<0x42>", "##a"], "\ufffd \ufffd a ABa"),
    ([FALLBACK, *BPE], ["a</w>", "<0x3C>", "<0x2F>", "<0x77>", "<0x3E>"], "a "),
    ([FALLBACK, *BPE], ["<0x3C>", "<0x2F>", "<0x77>", "<0x3E>", "a</w>"], " a"),
    ([FALLBACK, METASPACE, FUSE, {**STRIP, "start": 0, "stop": 1}], ["▁a", "<0x20>", "<0x20>"], "a "),
    ([BYTES], ["Ġa", "Ã", "©", "é b", "Ã"], " aéé b\ufffd"),
    ([BYTES, {**TO_SPACE, "pattern": {"String": "</w>"}}], ["a</w>", "b</", "w>"], "a b "),
    ([TO_SPACE, FUSE, BYTES], ["Ã", "©"], "é"),
    ([TO_SPACE, FUSE, BYTES], ["Ã", "©", "漢"], "Ã©漢"),
    ([FUSE, FALLBACK], ["<0x", "41>"], "A"),
    ([FUSE, {**STRIP, "stop": 2}], [" ", " a", "  ", " "], " a "),
    ([{**TO_SPACE, "pattern": {"String": ""}, "content": "-"}], ["ab", "c"], "-a-b--c-"),
    ([{**TO_SPACE, "pattern": {"Regex": "[ab]+"}, "content": "-"}], ["abc", "a"], "-c-"),
    ([FUSE, {**TO_SPACE, "pattern": {"Regex": "[ab]+"}, "content": "-"}], ["abc", "a", "b"], "-c-"),
    ([FUSE, {**TO_SPACE, "pattern": {"String": "aab"}, "content": "-"}], ["aa", "ab", "aa"], "a-aa"),
]


@pytest.mark.parametrize(("steps", "tokens", "text"), CASES)
def test_tokens_decode_to_the_text_that_tokenizers_gives(
    steps: list[dict[str, Any]] | None, tokens: list[str], text: str
) -> None:
    assert apply(make_steps(steps), tokens) == text
    decoding = of(steps, tokens)
    ids = [*range(len(tokens))]
    assert decoding.decode(ids) == text
    assert decoding.decode_batch([ids, [], ids]) == [text, decoding.decode([]), text]
    assert decoding.decode_with_offsets(ids)[0] == text
    assert b"".join(decoding.tokens(ids)) == decoding.decode_bytes(ids)
    for size in (1, 2, len(ids)):
        stream = decoding.stream()
        texts = [stream.push(ids[at : at + size]) for at in range(0, len(ids), size)]
        assert "".join(texts) + stream.finish() == text


@pytest.mark.parametrize("steps", [BPE, None, LLAMA, CHATGLM, [BYTES], [CTC], [WORDS]])
def test_any_sequence_of_integers_decodes_like_a_list(steps: list[dict[str, Any]] | None) -> None:
    decoding = of(steps, ["▁a", "b</w>", "##c", "<0x41>", "Ġd"], [2])
    ids = [1, 0, 2, 1, 4, 2]
    for skip in (False, True):
        text = decoding.decode(ids, skip=skip)
        kinds: list[Any] = [tuple(ids), numpy.array(ids), array.array("H", ids), memoryview(numpy.array(ids))]
        kinds += [memoryview(numpy.array(ids, dtype=dtype)) for dtype in ("<i4", ">i4", ">u8")]
        kinds.append(memoryview((ctypes.c_long * len(ids))(*ids)))
        for kind in kinds:
            assert decoding.decode(kind, skip=skip) == text
            assert decoding.decode_batch([kind, kind], skip=skip) == [text] * 2
        given: Any = iter(ids)
        assert decoding.decode(given, skip=skip) == text
        generator: Any = (iter(ids) for _ in range(2))
        assert decoding.decode_batch(generator, skip=skip) == [text] * 2


@pytest.mark.parametrize("steps", [BPE, None, LLAMA, CHATGLM, [BYTES], [CTC], [WORDS]])
def test_ids_without_a_token_are_an_error_or_left_out_or_replaced(steps: list[dict[str, Any]] | None) -> None:
    decoding = of(steps, ["a</w>", "", "▁b", "<0x41>"])
    message = r"id 1 at position 2 is not a token of this vocabulary \(its ids are between 0 and 3, with gaps\)"
    bad = [0, 2, 1, 3, 9]
    with pytest.raises(InvalidTokenError, match=message):
        decoding.decode(bad)
    with pytest.raises(InvalidTokenError, match=message) as caught:
        decoding.decode_batch([[0], bad])
    assert caught.value.__notes__ == ["for batch[1]"]  # type: ignore[attr-defined]
    with pytest.raises(InvalidTokenError, match=message):
        decoding.decode_bytes(bad)
    with pytest.raises(InvalidTokenError, match=r"^id 1 is not a token"):
        decoding.token(1)
    with pytest.raises(InvalidTokenError, match=r"id 4 .* \(its ids are between 0 and 3\)"):
        decoding.decode([4])
    replaced = apply(make_steps(steps), ["a</w>", "▁b", "\ufffd", "<0x41>", "\ufffd"])
    skipped = decoding.decode([0, 2, 3])
    for unknown, text in (("skip", skipped), ("replace", replaced)):
        rule: Any = unknown
        assert decoding.decode(bad, unknown_ids=rule) == text
        assert decoding.decode_batch([bad, bad], unknown_ids=rule) == [text] * 2
        stream = decoding.stream(unknown_ids=rule)
        assert "".join(map(stream.push, bad)) + stream.finish() == text
    stream = decoding.stream()
    first = stream.push([0, 2])
    with pytest.raises(InvalidTokenError):
        stream.push([3, 1])
    assert first + stream.push([3]) + stream.finish() == skipped


def test_finish_of_a_stream_that_raises_an_error_leaves_it_unchanged() -> None:
    stream = of([*BPE, BYTES], ["a", "Ã", "©"]).stream("strict")
    assert stream.push([0, 1]) == "a"
    for _ in range(2):
        with pytest.raises(UnicodeDecodeError, match="unexpected end of data"):
            stream.finish()
    assert stream.push(2) + stream.finish() == "é"


@pytest.mark.parametrize("steps", [BPE, [CTC], [BYTES]])
def test_bad_arguments_raise_the_errors_of_other_decoders(steps: list[dict[str, Any]]) -> None:
    decoding = of(steps, ["a</w>", "b"])
    no_rule: Any = "drop"
    for call in (decoding.decode, lambda ids, **more: decoding.decode_batch([ids], **more)):
        with pytest.raises(ValueError, match="unknown_ids"):
            call([0], unknown_ids=no_rule)
        with pytest.raises(LookupError):
            call([0], errors="no such handler")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="num_threads"):
            call([0], num_threads=-1)
        for bad in ([True], [0.5], "ab", 5, None):
            with pytest.raises(TypeError, match="ids must be"):
                call(bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown_ids"):
        decoding.decode_batch([], unknown_ids=no_rule)
    with pytest.raises(TypeError, match="not bool"):
        decoding.token(True)
    with pytest.raises(TypeError, match="bool"):
        decoding.stream().push(True)


def test_special_tokens_are_left_out_before_the_first_step() -> None:
    tokens = ["<s>", "a</w>", "b</w>", "</s>"]
    decoding = of(BPE, tokens, [0, 3])
    assert decoding.decode([0, 1, 2, 3], skip=True) == "a b"
    assert decoding.decode([0, 1, 2, 3]) == "<s>a b </s>"
    assert decoding.decode([0, 3], skip=True) == ""
    assert of(None, tokens, [0, 3]).decode([0, 1, 0, 2], skip=True) == "a</w> b</w>"
    bytes_around = of(LLAMA, ["<0xE2>", "<s>", "<0x96>", "<0x81>"], [1])
    assert bytes_around.decode([0, 1, 2, 3], skip=True) == "▁"
    assert bytes_around.decode([0, 1, 2, 3]) == "\ufffd<s>\ufffd\ufffd"


def test_tokens_that_become_nothing_end_a_run_of_bytes() -> None:
    steps = [{"type": "Strip", "content": "▁", "start": 1, "stop": 0}, FALLBACK]
    decoding = of(steps, ["<0xC3>", "▁", "<0xA9>", "x"], [3])
    assert decoding.decode([0, 2, 1, 0, 1, 2]) == "é\ufffd\ufffd"
    assert decoding.decode([0, 3, 2, 1, 0, 1, 2], skip=True) == "é\ufffd\ufffd"
    assert decoding.decode_bytes([0, 1, 2]) == b"\xc3\xa9"


def test_a_whole_decoder_is_a_list_of_steps() -> None:
    whole = {"type": "Sequence", "decoders": [TO_SPACE, {"type": "Sequence", "decoders": [FALLBACK, FUSE, STRIP]}]}
    assert StepDecoding(whole, [b"a", "▁b".encode()]).decode([1, 0, 1]) == "ba b"


def test_the_empty_token_is_a_token() -> None:
    decoding = StepDecoding(None, [b"a", b"", b""], empty=[1])
    assert decoding.decode([0, 1, 0]) == "a  a"
    assert decoding.token(1) == b" "
    with pytest.raises(InvalidTokenError):
        decoding.decode([2])


def test_bytes_that_are_not_utf8_go_to_the_error_handler() -> None:
    for steps in ([FALLBACK, FUSE], LLAMA, CHATGLM):
        decoding = of(steps, ["a", "<0xC3>", "b"])
        ids = [0, 1, 2]
        assert decoding.decode(ids, "ignore") == "ab"
        assert decoding.decode(ids, "backslashreplace") == r"a\xc3b"
        assert decoding.decode_batch([ids, ids], "ignore") == ["ab", "ab"]
        with pytest.raises(UnicodeDecodeError):
            decoding.decode(ids, "strict")
        with pytest.raises(UnicodeDecodeError):
            decoding.decode_batch([ids], "strict")
        assert decoding.decode_bytes(ids) == b"a\xc3b"
        assert b"".join(decoding.tokens(ids)) == b"a\xc3b"
    assert of([FALLBACK], ["a", "<0xC3>", "b"]).tokens([0, 1, 2]) == [b"a", b"\xc3", b"b"]
    assert of([BYTES], ["a", "Ã", "b"]).decode([0, 1, 2], "ignore") == "ab"
    assert of([BYTES], ["a", "Ã", "b"]).decode_bytes([0, 1, 2]) == b"a\xc3b"


def test_bytes_of_one_token_are_those_that_it_adds_within_a_text() -> None:
    assert of(BPE, ["a</w>"]).token(0) == b"a "
    assert of(LLAMA, ["▁a", "<0xC3>"]).token(0) == b" a"
    assert of(LLAMA, ["▁a", "<0xC3>"]).token(1) == b"\xc3"
    assert of(CHATGLM, ["▁a", "<0xC3>"]).token(1) == b"\xc3"
    assert of([CTC], ["a|"]).token(0) == b"a "


def test_offsets_are_those_of_the_first_character_of_each_token() -> None:
    assert of(BPE, ["a</w>", "bc</w>"]).decode_with_offsets([0, 1, 0]) == ("a bc a", [0, 2, 5])
    assert of(None, ["a", "bc"]).decode_with_offsets([0, 1, 0]) == ("a bc a", [0, 1, 4])
    assert of([FALLBACK], ["<0xC3>", "<0xA9>", "a"]).decode_with_offsets([2, 0, 1, 2]) == ("aéa", [0, 1, 1, 2])
    assert of(LLAMA, ["▁a", "b"]).decode_with_offsets([0, 1]) == ("ab", [0, 1])


def test_streams_give_text_as_soon_as_it_is_certain() -> None:
    stream = of(BPE, ["a</w>", "b"]).stream()
    assert [stream.push(i) for i in (0, 1, 0)] == ["a", " b", "a"]
    assert stream.finish() == ""
    assert [stream.push(i) for i in (0, 0)] == ["a", " a"]
    stream = of(LLAMA, ["▁a", "b", "<0xC3>", "<0xA9>"]).stream()
    assert [stream.push(i) for i in (0, 0, 1, 2, 3, 1)] == ["a", " a", "b", "", "", "éb"]
    stream = of(None, ["a", "b"]).stream()
    assert [stream.push(i) for i in (0, 1)] == ["a", " b"]
    stream = of([*BPE, FUSE], ["a</w>", "b"]).stream()
    assert [stream.push(i) for i in (0, 1)] == ["a", " b"]


def test_copied_streams_go_on_from_the_same_place() -> None:
    stream = of(LLAMA, ["▁a", "<0xC3>", "<0xA9>"]).stream()
    assert stream.push([0, 1]) == "a"
    other, third = copy.copy(stream), copy.deepcopy(stream)
    assert (stream.push(2), stream.finish()) == ("", "é")
    assert other.finish() == "\ufffd"
    assert third.push([2, 0]) == "é a"
    assert repr(third) == "<fastbpe.StreamDecoder of 4 steps of a tokenizer.json>"


def random_lists(rng: random.Random, n: int) -> Iterator[list[int]]:
    for _ in range(200):
        yield rng.choices(range(n), k=rng.randrange(12))


@pytest.mark.parametrize("steps", [case[0] for case in CASES])
def test_table_and_steps_give_the_same_text(steps: list[dict[str, Any]] | None) -> None:
    rng = random.Random(5)
    tokens = ["a", "▁", "▁a", "b</w>", "##", "<0xC3>", "<0xA9>", "<0x41>", "é", " ", "Ã", "©", "|", "ab", "."]
    quick, slow = of(steps, tokens, [4]), of(steps, tokens, [4])
    slow._table = None
    batch = [*random_lists(rng, len(tokens))]
    for skip in (False, True):
        assert quick.decode_batch(batch, skip=skip) == slow.decode_batch(batch, skip=skip)
    for ids in batch:
        assert quick.decode_bytes(ids) == slow.decode_bytes(ids)


WIDE_SPACE = {"type": "Replace", "pattern": {"String": " "}, "content": "é"}
FIRST_FORMS: list[tuple[list[dict[str, Any]] | None, list[str]]] = [
    (None, ["a", "é", "漢", "💩", "<s>"]),
    ([WORDS], ["a", "##a", "##é", "漢", "##", ".", "<s>"]),
    ([METASPACE], ["▁a", "▁", "a▁é", "💩", "▁▁", "<s>"]),
    ([METASPACE, WIDE_SPACE], ["▁a", "▁", "b", "▁▁ab", "<s>"]),  # only the first token may be ASCII
]


@pytest.mark.parametrize(("steps", "tokens"), FIRST_FORMS)
@pytest.mark.parametrize("n", [1, 2, 30, 1 << 17])
def test_first_token_has_its_own_form_in_lists_of_any_length(
    steps: list[dict[str, Any]] | None, tokens: list[str], n: int
) -> None:
    """Lists of 2 ** 17 ids are decoded on several threads."""
    decoding, special = of(steps, tokens, [len(tokens) - 1]), len(tokens) - 1
    made = make_steps(steps)

    def slowly(ids: list[int]) -> str:
        """Decode ids of which all after the second are equal."""
        texts = [apply(made, [tokens[i] for i in ids[:n]]) for n in (3, 4)]
        return texts[1] + texts[1][len(texts[0]) :] * (len(ids) - 4)

    for first in range(len(tokens)):
        for second in range(len(tokens) if n < 99 else 1):
            ids = [special, first, *[second] * (n - 1)]
            for skip in (False, True):
                expected = slowly([i for i in ids if not skip or i != special])
                found = [decoding.decode(ids, num_threads=2, skip=skip)]
                found += decoding.decode_batch([ids, ids[1:]], num_threads=2, skip=skip)
                assert found[:2] == [expected] * 2
                assert found[2] == (expected if skip else slowly(ids[1:]))
                assert [text.isascii() for text in found[:2]] == [expected.isascii()] * 2


@pytest.mark.parametrize("steps", [LLAMA, CHATGLM, [TO_SPACE, BYTES], [TO_SPACE, *BPE], [TO_SPACE]])
@pytest.mark.parametrize("odd", [[], ["\0"], ["", "a\0▁"]])
def test_tables_of_many_tokens_hold_each_token(steps: list[dict[str, Any]], odd: list[str]) -> None:
    tokens = [f"▁{number}▁" for number in range(400)] + ["<0xC3>", "<0xA9>", "<0xZZ>", *odd]
    quick = StepDecoding(steps, [token.encode() for token in tokens], empty=[len(tokens) - 2] if odd[1:] else [])
    ids = [0, 5, *range(399, len(tokens)), 7]
    assert quick.decode(ids) == apply(make_steps(steps), [tokens[i] for i in ids])


def test_lists_of_steps_on_single_tokens_become_tables() -> None:
    for steps in (BPE, None, [], LLAMA, CHATGLM, [BYTES], [WORDS], [METASPACE], [TO_SPACE, BYTES, STRIP]):
        assert find_plan(make_steps(steps)) is not None
    for steps in ([CTC], [WORDS, BYTES], [FALLBACK, BYTES], [FALLBACK, CTC]):
        assert find_plan(make_steps(steps)) is None


REFUSED: list[tuple[Any, str]] = [
    ({"type": "BPEDecoder"}, r"decoder\.suffix: in BPEDecoder it must be text, not None"),
    ({"type": "ByteLevel"}, r"decoder\.add_prefix_space: in ByteLevel it must be true or false, not None"),
    ({**STRIP, "start": -1}, r"decoder\.start: in Strip it must be an integer from 0 to 2\*\*64 - 1, not -1"),
    ({**STRIP, "content": "ab"}, r"decoder\.content: in Strip it must be one character, not 'ab'"),
    ({**TO_SPACE, "pattern": "a"}, r'decoder\.pattern: in Replace it must be {"String": text} or .*, not \'a\''),
    ({**METASPACE, "prepend_scheme": "x"}, "prepend_scheme: in Metaspace it must be one of always, first, never"),
    (
        {"type": "Metaspace", "replacement": "▁", "add_prefix_space": False},
        r"decoder\.add_prefix_space: false contradicts the prepend_scheme 'always'",
    ),
    ({"type": "Metaspace", "replacement": "▁", "str_rep": 3}, r"decoder\.str_rep: in Metaspace it must be text"),
    ({"type": "NFC"}, "decoder: the decoder 'NFC' is unknown; fastbpe knows BPEDecoder, .* and Sequence"),
    ([], r"decoder: \[\] is not a decoder"),
    ("Fuse", "decoder: 'Fuse' is not a decoder"),
    ({"type": "Sequence"}, "decoder: a Sequence needs a list 'decoders'"),
    ({"type": "Sequence", "decoders": [FUSE, {"type": "Strip"}]}, r"decoder\.decoders\[1\]\.content: in Strip"),
]


@pytest.mark.parametrize(("described", "message"), REFUSED)
def test_decoders_that_tokenizers_refuses_raise_format_error(described: Any, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        canonical(described)


def test_deep_sequences_raise_format_error() -> None:
    deep: Any = FUSE
    for _ in range(500):
        deep = {"type": "Sequence", "decoders": [deep]}
    with pytest.raises(FormatError, match="not more than 62 levels deep"):
        canonical(deep)


def test_odd_descriptions_that_tokenizers_takes_are_taken() -> None:
    assert canonical({"type": "newer", "suffix": "a"}) == {"type": "BPEDecoder", "suffix": "a"}
    assert canonical(["a", 1, 0]) == {"type": "Strip", "content": "a", "start": 1, "stop": 0}
    assert canonical({**METASPACE, "split": None, "add_prefix_space": True, "str_rep": "▁"}) == METASPACE
    assert flattened({"type": "Sequence", "decoders": [{"type": "Sequence", "decoders": [FUSE]}, STRIP]}) == [
        FUSE,
        STRIP,
    ]


def test_pattern_that_cannot_be_used_raises_pattern_error() -> None:
    with pytest.raises(PatternError):
        StepDecoding([{**TO_SPACE, "pattern": {"Regex": "["}}], [b"a"])


@pytest.mark.parametrize(
    ("regex", "is_slow"),
    [("(?:a|aa)+c", False), pytest.param("(?:(?:a|aa)+c|)", True, marks=pytest.mark.daily)],
)
def test_regex_that_backtracks_does_not_hang(regex: str, is_slow: bool) -> None:
    steps = make_steps({"type": "Replace", "pattern": {"Regex": regex}, "content": "x"})
    with within(8 if is_slow else 1), pytest.raises(PatternError) if is_slow else contextlib.nullcontext():
        assert apply(steps, ["a" * 60 + "b"]) == "a" * 60 + "b"
