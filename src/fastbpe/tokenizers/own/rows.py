"""Rows of a call: texts, pairs of texts or words, encoded by fastbpe, truncated, in their template, and padded.

`Setup` is all that decides the result and never changes, so that an encoding can make its other columns later.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from fastbpe.fitting.padding import padded_length
from fastbpe.fitting.truncation import Truncation, lengths_of_pair
from fastbpe.tokenizer.beginnings import encode_beginnings
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.tokenizer.words import find_words
from fastbpe.tokenizers.own.components import needs_tokenizers
from fastbpe.tokenizers.own.encoding import Encoding, of_columns, of_ids
from fastbpe.tokenizers.own.processors import PostProcessor, process
from fastbpe.tokenizers.own.written import WrittenEngine


class Row(NamedTuple):
    """Text or words, and a second one in a pair."""

    first: Any
    second: Any = None


class Around(NamedTuple):
    """Ids before a text, and after it."""

    before: list[int]
    behind: list[int]


class Setup(NamedTuple):
    """Settings of a tokenizer.

    native: fastbpe's tokenizer without the post-processor; or the engine of components written in Python.
    names: token of each id.
    post: the post-processor; it is not changed.
    truncation, padding: settings as the properties of the tokenizer give them; None: there is none.
    splits_special: special tokens in texts are split like any text.
    around: as `find_around` gives it.
    """

    native: Tokenizer | WrittenEngine
    names: Mapping[int, str]
    post: PostProcessor | None
    around: Around | None
    truncation: Mapping[str, Any] | None
    padding: Mapping[str, Any] | None
    splits_special: bool


def text_row(value: Any) -> Row:
    """Return the row of an input: a text, or a tuple or a list of two. Raises TypeError for others."""
    value = without_arrays(value)
    if isinstance(value, str):
        return Row(text(value))
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return Row(text(value[0]), text(value[1]))
    raise TypeError("TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, InputSequence]]")


def words_row(value: Any) -> Row:
    """Return the row of an input: words, or a tuple or a list of two such. Raises TypeError for others."""
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
    """Return a text without lone surrogates. Raises TypeError for others."""
    if not isinstance(value, str):
        raise TypeError("TextInputSequence must be str")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise TypeError("TextInputSequence must be str, and UTF-8 cannot hold a lone surrogate") from None
    return value if type(value) is str else str(value)


def words(value: Any) -> list[str]:
    """Return words. Raises TypeError for others."""
    value = without_arrays(value)
    if not _are_words(value):
        raise TypeError("PreTokenizedInputSequence must be Union[List[str], Tuple[str]]")
    return [*map(text, value)]


def without_arrays(value: Any) -> Any:
    """Return a numpy array as lists, and anything else as it is. numpy is not imported for that."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.ndarray) or not value.ndim:
        return value
    return value.tolist()


def _are_words(value: Any) -> bool:
    value = without_arrays(value)
    return isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value)


def encode_rows(setup: Setup, rows: list[Row], *, words: bool, adds_special: bool, fast: bool) -> list[Encoding]:
    """Encode rows.

    Args:
        setup: the settings.
        rows: the texts.
        words: they are lists of words.
        adds_special: add the ids of the template.
        fast: leave tokens, words and offsets out, as `encode_batch_fast` does.

    Raises:
        ValueError: the settings of truncation do not fit a row.
    """
    if not words and all(row.second is None for row in rows):
        found = _rows_of_ids(setup, rows, adds_special, fast)
        if found is not None:
            return found
    made = [_whole(setup, row, words, adds_special, fast) for row in rows]
    if setup.padding is not None and made:
        pad(made, setup.padding)
    return made


def pad(encodings: list[Encoding], padding: Mapping[str, Any]) -> None:
    """Pad the encodings of a batch, in place."""
    length = padded_length([*map(len, encodings)], padding)
    for encoding in encodings:
        _pad_to(encoding, length, padding)


def _pad_to(encoding: Encoding, length: int, padding: Mapping[str, Any]) -> None:
    encoding.pad(length, **{name: padding[name] for name in ("direction", "pad_id", "pad_type_id", "pad_token")})


# Ids alone


def find_around(post: PostProcessor | None) -> Around | None:
    """Return the ids that a post-processor puts around a text; None if it does not hold it once and whole."""
    if post is None:
        return Around([], [])
    probe = [1 << 33, 1 << 34]  # no ids of a template
    found = process(post, [_encoding([*probe], ["", ""], [None, None], [(0, 0)] * 2, 0)], True).ids
    at = next((i for i in range(len(found) - 1) if found[i : i + 2] == probe), -1)
    before, behind = found[:at], found[at + 2 :]
    if at < 0 or any(token_id in probe for token_id in before + behind):
        return None
    return Around(before, behind)


def _rows_of_ids(setup: Setup, rows: list[Row], adds_special: bool, fast: bool) -> list[Encoding] | None:
    """Encode single texts; all but their ids is made when it is asked for. None: the long way must answer."""
    around = setup.around if adds_special else Around([], [])
    cut = _cut_of(setup, adds_special)
    if around is None or cut is None or isinstance(setup.native, WrittenEngine):
        return None
    limit, is_left = cut
    texts = [row.first for row in rows]
    batch = (_encode_texts if is_left else _encode_beginnings)(setup, setup.native, texts, limit)
    made = [
        [*around.before, *(ids if len(ids) <= limit else ids[-limit:] if is_left else ids[:limit]), *around.behind]
        for ids in batch
    ]
    padding, length = setup.padding, 0
    if padding is not None and made:
        length = padded_length([*map(len, made)], padding)
        for ids in made:
            pads = [padding["pad_id"]] * (length - len(ids))
            if padding["direction"] == "left":
                ids[:0] = pads
            else:
                ids += pads

    def maker(row: Row) -> Callable[[], Encoding]:
        def make() -> Encoding:
            encoding = _whole(setup, row, False, adds_special, fast)
            if padding is not None:
                _pad_to(encoding, length, padding)
            return encoding

        return make

    return [of_ids(ids, maker(row)) for ids, row in zip(made, rows, strict=True)]


def _encode_beginnings(setup: Setup, native: Tokenizer, texts: Sequence[str], limit: int) -> list[list[int]]:
    """Encode texts, each at least as far as its first `limit` ids go."""
    return encode_beginnings(
        lambda texts: _encode_texts(setup, native, texts, limit),
        lambda batch: [*map(len, batch)],
        native,
        texts,
        limit,
        splits_special=setup.splits_special,
    )


def _encode_texts(setup: Setup, native: Tokenizer, texts: Sequence[str], limit: int) -> list[list[int]]:
    """Encode whole texts."""
    if setup.splits_special:
        return native.encode_ordinary_batch(texts)
    if len(texts) == 1:
        return [native.encode(texts[0], allowed_special="all")]
    return native.encode_batch(texts, allowed_special="all")


def _cut_of(setup: Setup, adds_special: bool) -> tuple[int, bool] | None:
    """Return the most ids of a single text, and whether they are cut off at the left; None: look at each text."""
    settings = setup.truncation
    if settings is None:
        return 1 << 62, False
    limit = _limit(setup, 1, adds_special)
    if limit is None:
        return 1 << 62, False
    if not limit or settings["stride"] >= limit or settings["strategy"] == "only_second":
        return None
    return limit, settings["direction"] == "left"


def _limit(setup: Setup, n_texts: int, adds_special: bool) -> int | None:
    """Return the most ids of a row, without the template; None: it would be below 0, which is no limit."""
    assert setup.truncation is not None
    n_added = setup.post.n_added(n_texts == 2) if setup.post is not None and adds_special else 0
    limit: int = setup.truncation["max_length"] - n_added
    return None if limit < 0 else limit


# All columns


def _whole(setup: Setup, row: Row, words: bool, adds_special: bool, fast: bool) -> Encoding:
    """Encode a row, without padding."""
    texts = [one for one in row if one is not None]
    encodings = []
    for i, one in enumerate(texts):
        type_id = 0 if fast else i  # as in tokenizers
        if words:
            parts = [_text(setup, word, n, type_id, fast) for n, word in enumerate(one)]
            encodings.append(Encoding.merge(parts, False))
        else:
            encodings.append(_text(setup, one, None, type_id, fast))
    return post_process(setup, encodings, adds_special)


def post_process(setup: Setup, encodings: list[Encoding], adds_special: bool) -> Encoding:
    """Truncate the encodings of a text, or of two, in place, and put them into the template."""
    if setup.truncation is not None:
        _truncate(encodings, setup, adds_special)
    return process(setup.post, encodings, adds_special)


def _text(setup: Setup, one: str, word: int | None, type_id: int, fast: bool) -> Encoding:
    """Encode a text. word: its number, if it is a word."""
    allowed: Any = frozenset() if setup.splits_special else "all"
    if isinstance(setup.native, WrittenEngine):
        made = setup.native.encode(one, allowed)
        if fast:
            return _ids_alone(made.ids, type_id)
        made.set_type_ids(type_id)
        if word is not None:
            made.columns["words"][:] = [word] * len(made)
        return made
    ids, spans = setup.native.encode_with_offsets(one, allowed_special=allowed, disallowed_special=())
    if fast:
        return _ids_alone(ids, type_id)
    names = setup.names
    tokens = [names[token_id] for token_id in ids]
    found = find_words(setup.native, one, ids, tokens, allowed_special=allowed)
    if found is None:
        needs_tokenizers("an encoding of the name of a control symbol between user-defined symbols")
    for i, its_text in found.found.items():
        tokens[i] = its_text
    numbers = found.numbers if word is None else [word] * len(ids)
    return _encoding(ids, tokens, numbers, spans, type_id)


def _ids_alone(ids: list[int], type_id: int) -> Encoding:
    return _encoding(ids, [""] * len(ids), [None] * len(ids), [(0, 0)] * len(ids), type_id)


def _encoding(
    ids: list[int], tokens: list[str], numbers: list[Any], spans: list[tuple[int, int]], type_id: int
) -> Encoding:
    n = len(ids)
    return of_columns(
        {
            "ids": ids,
            "type_ids": [type_id] * n,
            "tokens": tokens,
            "words": numbers,
            "offsets": spans,
            "special_tokens_mask": [0] * n,
            "attention_mask": [1] * n,
        }
    )


def _truncate(encodings: list[Encoding], setup: Setup, adds_special: bool) -> None:
    settings, limit = setup.truncation, _limit(setup, len(encodings), adds_special)
    if settings is None or limit is None:
        return
    stride, side = settings["stride"], settings["direction"]
    lengths = [*map(len, encodings)]
    if limit and sum(lengths) <= limit:
        return
    kept: list[int] | tuple[int, int] | None = [limit] * len(encodings)
    if limit:
        strategy = settings["strategy"]
        if len(encodings) == 2:
            kept = lengths_of_pair(Truncation(limit, stride, strategy, side == "left"), *lengths)
        elif strategy == "only_second":
            raise ValueError("Truncation error: Second sequence not provided")
    if kept is None:
        raise ValueError("Truncation error: Sequence to truncate too short to respect the provided max_length")
    for encoding, n in zip(encodings, kept, strict=True):
        encoding.truncate(n, stride, side)
