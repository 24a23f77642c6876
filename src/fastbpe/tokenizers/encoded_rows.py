"""Encoding of rows (texts, word lists, or pairs) one by one, and plans for encoding them as a batch."""

from __future__ import annotations

import sys

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.huggingface.checked_arguments import of_type
from fastbpe.huggingface.columns import Span, padded_length
from fastbpe.huggingface.encoding import Encoding, of_tokens
from fastbpe.huggingface.frames import frame_of
from fastbpe.huggingface.row_columns import tokens_of
from fastbpe.huggingface.rows import HandOver, Offsets, Plan, encode_spans
from fastbpe.huggingface.truncation_rules import Truncation, lengths_of_pair, read_truncation
from fastbpe.tokenizer.families.words import Words
from fastbpe.tokenizer.internals import find_words, id_without_name, vocabulary_of
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.tokenizers.components import needs_tokenizers
from fastbpe.tokenizers.processors import PostProcessor, process
from fastbpe.tokenizers.written import WrittenEngine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

    from fastbpe._core.encode.trim_spans import SpanTrimmer

    #: For decoding streams, id → text: a table with special tokens, and one that skips them.
    TextTables = tuple[dict[int, str | None], dict[int, str | None]]


class Row(NamedTuple):
    """A text or a list of words; in a pair, two of them."""

    first: Any
    second: Any = None


class Setup(NamedTuple):
    """Settings of a tokenizer; immutable except for the caches.

    native: fastbpe's tokenizer without the post-processor; a WrittenEngine if the model has dropout or a component
        is written in Python.
    decodes: `native` decodes as `Definition.decode_slowly` does.
    names: id → token.
    added: ids of added tokens.
    post: the post-processor, or None.
    truncation, padding: values of the properties `truncation` and `padding` of `Tokenizer`; None: off.
    splits_special: True: special tokens in texts are treated as ordinary text.
    plans: cache of `plan_of`.
    texts: caches of decoding streams.
    trimmers: cache of `offsets_of`: tuple with a bool for each step that trims (True: a space was put before the
        text) → trimmer.
    """

    native: Tokenizer | WrittenEngine
    decodes: bool
    names: Mapping[int, str]
    added: Collection[int]
    post: PostProcessor | None
    truncation: Mapping[str, Any] | None
    padding: Mapping[str, Any] | None
    splits_special: bool
    plans: dict[tuple[bool, bool, bool], Plan | None]
    texts: TextTables
    trimmers: dict[tuple[bool, ...], SpanTrimmer]

    @property
    def allowed(self) -> Any:
        """The argument `allowed_special` for `Tokenizer.encode`."""
        return frozenset() if self.splits_special else "all"

    def n_added(self, pair: bool, adds_special: bool) -> int:
        """Return the number of ids that the post-processor adds to a text, or to two; 0 without adds_special."""
        return self.post.n_added(pair) if self.post is not None and adds_special else 0


def text_row(value: Any) -> Row:
    """Return the row for an input: a text, or a tuple or list of two. Raises TypeError for anything else."""
    value = without_arrays(value)
    if isinstance(value, str):
        return Row(text(value))
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return Row(text(value[0]), text(value[1]))
    raise TypeError("TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, InputSequence]]")


def words_row(value: Any) -> Row:
    """Return the row for an input: words, or a tuple or list of two word lists. Raises TypeError for others."""
    value = without_arrays(value)
    if _are_words(value):
        return Row(words(value))
    if isinstance(value, (tuple, list)) and len(value) == 2 and all(map(_are_words, value)):
        return Row(words(value[0]), words(value[1]))
    raise TypeError(
        "PreTokenizedEncodeInput must be Union[PreTokenizedInputSequence, "
        "Tuple[PreTokenizedInputSequence, PreTokenizedInputSequence]]"
    )


def text(value: Any) -> str:
    """Return a text as a plain str. Raises TypeError for another value or a lone surrogate."""
    if type(value) is str and value.isascii():
        return value
    if not isinstance(value, str):
        raise TypeError("TextInputSequence must be str")
    try:
        found: str = of_type(value, str)
    except UnicodeEncodeError:
        raise TypeError("TextInputSequence must be str, and UTF-8 cannot encode a lone surrogate") from None
    return found


def words(value: Any) -> list[str]:
    """Return the value as words. Raises TypeError for anything else."""
    value = without_arrays(value)
    if not _are_words(value):
        raise TypeError("PreTokenizedInputSequence must be Union[List[str], Tuple[str]]")
    return [*map(text, value)]


def without_arrays(value: Any) -> Any:
    """Return a numpy array of one or more dimensions as a list, anything else unchanged. Never imports numpy."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.ndarray) or not value.ndim:
        return value
    return value.tolist()


def _are_words(value: Any) -> bool:
    value = without_arrays(value)
    return isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value)


def plan_of(setup: Setup, pair: bool, adds_special: bool, fast: bool) -> Plan | None:
    """Return the plan for encoding rows as a batch; None: encode each row by itself.

    pair: rows are pairs. adds_special, fast: as for `whole`.
    """
    key = pair, adds_special, fast
    if key not in setup.plans:
        setup.plans[key] = _make_plan(setup, *key)
    return setup.plans[key]


def _make_plan(setup: Setup, pair: bool, adds_special: bool, fast: bool) -> Plan | None:
    # Texts of one token, "", in place of real ones: what the post-processor puts around them is the frame.
    probe = [of_tokens([0], [""], [None], [(0, 0)], 0 if fast else i) for i in range(1 + pair)]
    frame = frame_of(process(setup.post, probe, adds_special), pair=pair, probe="")
    if frame is None or isinstance(setup.native, WrittenEngine):
        return None
    settings, truncation = setup.truncation, None
    if settings is not None:
        truncation = read_truncation(settings, setup.n_added(pair, adds_special))
        if truncation is None:
            return None
    return Plan(setup.native, frame, settings, setup.padding, truncation, setup.splits_special)


def offsets_of(setup: Setup, plan: Plan) -> Offsets:
    """Return the source of a batch's offsets, trimmed as the post-processor demands.

    Raises HandOver if each row must be encoded by itself.
    """
    from fastbpe.tokenizer.families.trim_offsets import prefixes, trimmer_of  # here: few programs ask for offsets

    prefixed = () if setup.post is None else tuple(prefixes(setup.post.state()))

    def encode(texts: Sequence[str]) -> tuple[list[list[int]], list[list[Span]]]:
        return encode_spans(plan.tokenizer, texts, splits=plan.splits_special)

    if not prefixed:
        return Offsets(encode, by_place=False)
    if plan.tokenizer.mode == "codepoint":
        raise HandOver("trimmed offsets with a code-point vocabulary")
    trim = setup.trimmers.get(prefixed)
    if trim is None:
        tokens, shown = vocabulary_of(plan.tokenizer).tokens, plan.tokenizer.mode == "character"
        trim = setup.trimmers[prefixed] = trimmer_of(prefixed, tokens, shown=shown)

    def encode_trimmed(texts: Sequence[str]) -> tuple[list[list[int]], list[list[Span]]]:
        ids, spans = encode(texts)
        return ids, [
            trim(ids_of_text, spans[i], _found(setup, texts[i], ids_of_text)) for i, ids_of_text in enumerate(ids)
        ]

    return Offsets(encode_trimmed, by_place=any(prefixed))


def _found(setup: Setup, text: str, ids: list[int]) -> list[tuple[int, str]]:
    """Return (index in ids, text) of each special or added token, and of each of Unigram's unknown tokens."""
    assert isinstance(setup.native, Tokenizer)
    unknown = id_without_name(setup.native)
    if not any(i in setup.added or i == unknown for i in ids):
        return []
    return [*words_of(setup, text, ids).found.items()]


def words_of(setup: Setup, text: str, ids: list[int]) -> Words:
    """Return the word number of each id of a text. Raises ImportError if fastbpe cannot find the words."""
    assert isinstance(setup.native, Tokenizer)
    found = find_words(setup.native, text, ids, setup.names, setup.allowed)
    if found is None:
        needs_tokenizers("offsets of a text with the name of a control symbol between user-defined symbols")
    return found


def pad(encodings: list[Encoding], padding: Mapping[str, Any]) -> None:
    """Pad the encodings of a batch, in place."""
    length = padded_length([*map(len, encodings)], padding)
    for encoding in encodings:
        pad_to(encoding, length, padding)


def pad_to(encoding: Encoding, length: int, padding: Mapping[str, Any]) -> None:
    """Pad an encoding to a length, in place."""
    encoding.pad(length, **{name: padding[name] for name in ("direction", "pad_id", "pad_type_id", "pad_token")})


def whole(setup: Setup, row: Row, *, words: bool, adds_special: bool, fast: bool) -> Encoding:
    """Encode a row, without padding. Raises ValueError if the row cannot be truncated with these settings.

    words: the texts are lists of words. adds_special: add the ids of the post-processor.
    fast: omit tokens, words and offsets, as `encode_batch_fast` does.
    """
    inputs = [text_or_words for text_or_words in row if text_or_words is not None]
    encodings = []
    for i, text_or_words in enumerate(inputs):
        type_id = 0 if fast else i  # as in tokenizers
        if words:
            parts = [_text(setup, word, n, type_id, fast) for n, word in enumerate(text_or_words)]
            encodings.append(Encoding.merge(parts, growing_offsets=False))
        else:
            encodings.append(_text(setup, text_or_words, None, type_id, fast))
    return post_process(setup, encodings, adds_special)


def post_process(setup: Setup, encodings: list[Encoding], adds_special: bool) -> Encoding:
    """Truncate the encodings of a text, or of two, in place, and return them joined by the post-processor."""
    if setup.truncation is not None:
        n_added = setup.n_added(len(encodings) == 2, adds_special)
        _truncate(encodings, setup.truncation, setup.truncation["max_length"] - n_added)
    return process(setup.post, encodings, adds_special)


def _text(setup: Setup, content: str, word: int | None, type_id: int, fast: bool) -> Encoding:
    """Encode a text, without truncation. word: its word number, if it is one word of a list; else None."""
    if isinstance(setup.native, WrittenEngine):
        made = setup.native.encode(content, setup.allowed)
        if fast:
            return _ids_alone(made.ids, type_id)
        made.set_type_ids(type_id)
        if word is not None:
            made.columns["words"][:] = [word] * len(made)
        return made
    ids, spans = setup.native.encode_with_offsets(content, allowed_special=setup.allowed, disallowed_special=())
    if fast:
        return _ids_alone(ids, type_id)
    found = words_of(setup, content, ids)
    numbers = found.numbers if word is None else [word] * len(ids)
    return of_tokens(ids, tokens_of(setup.names, ids, found), numbers, spans, type_id)


def _ids_alone(ids: list[int], type_id: int) -> Encoding:
    return of_tokens(ids, [""] * len(ids), [None] * len(ids), [(0, 0)] * len(ids), type_id)


def _truncate(encodings: list[Encoding], settings: Mapping[str, Any], limit: int) -> None:
    """Truncate encodings in place. limit: maximum number of their ids together; a negative one is no limit.

    Raises ValueError if the strategy cannot reach the limit, or the stride is too large for it.
    """
    stride, side = settings["stride"], settings["direction"]
    lengths = [*map(len, encodings)]
    if limit < 0 or sum(lengths) <= limit:
        return
    kept: list[int] | tuple[int, int] | None = [limit] * len(encodings)
    if limit:  # 0: as in tokenizers, with any strategy and stride nothing is kept
        strategy = settings["strategy"]
        if len(encodings) == 2:
            kept = lengths_of_pair(Truncation(limit, stride, strategy, side == "left"), *lengths)
        elif strategy == "only_second":
            raise ValueError("Truncation error: Second sequence not provided")
    if kept is None:
        raise ValueError("Truncation error: Sequence to truncate too short to respect the provided max_length")
    for encoding, n in zip(encodings, kept, strict=True):
        encoding.truncate(n, stride, side)
