"""Encoding: the ids of a text, with their tokens, offsets and so on, as lists."""

from __future__ import annotations

from fastbpe._utils import late_json as json
from fastbpe.huggingface.checked_arguments import ignore, number, of_type, sequence, token_id
from fastbpe.huggingface.truncation_rules import Truncation, parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Protocol

    class Source(Protocol):
        """Object that computes the columns of lazy encodings.

        may_overflow: truncation may have cut off parts.
        column: returns a column of row i; None: only `whole` can compute it.
        whole: returns the encoding of row i with all its columns, parts and ranges.
        """

        @property
        def may_overflow(self) -> bool: ...
        @property
        def n_sequences(self) -> int: ...
        def column(self, encoding: Encoding, name: str, i: int) -> list[Any] | None: ...
        def whole(self, i: int) -> Encoding: ...


#: Columns in the order of the pickled form.
COLUMNS = ("ids", "type_ids", "tokens", "words", "offsets", "special_tokens_mask", "attention_mask")
_SIDES = ("left", "right")


def _column(name: str, doc: str) -> Any:
    """Return a property: a copy of a column, which the source may compute alone, without all others."""

    def get(self: Encoding) -> Any:
        source = self._source  # read once, here as below: another thread may make the columns, and drop it
        if source is not None:
            found = source.column(self, name, self._row)
            if found is not None:
                return found
        return [*self.columns[name]]

    return property(get, None, None, doc)


class Encoding:
    """Ids of a text, or of two, with the token, offsets and other values of each id.

    `Tokenizer.encode` returns it. The ids are computed at once, all other columns at first use.
    """

    __slots__ = ("__weakref__", "_columns", "_ids", "_parts", "_ranges", "_row", "_source")

    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] | None = {name: [] for name in COLUMNS}
        self._parts: list[Encoding] = []  # parts that truncation cut off
        self._ranges: dict[int, tuple[int, int]] = {}  # start and end of each text
        self._ids: list[int] = self._columns["ids"]
        self._source: Source | None = None  # source of the columns that are not made yet
        self._row = 0

    @classmethod
    def of_source(cls, source: Source, row: int, ids: list[int]) -> Encoding:
        """Return an encoding that gets its other columns from a source, at first use."""
        made = cls.__new__(cls)  # without _parts and _ranges: reading `columns` sets them, see _become
        made._source, made._row, made._ids, made._columns = source, row, ids, None
        return made

    def _become(self, other: Encoding) -> None:
        """Replace the content by the content of another encoding."""
        self._columns, self._parts, self._ranges = other.columns, other.parts, other.ranges
        self._ids, self._source = other._ids, None

    @property
    def columns(self) -> dict[str, list[Any]]:
        """Dict from name to column: the encoding's own lists, with one item per id."""
        source = self._source
        if source is not None:
            self._become(source.whole(self._row))
        assert self._columns is not None
        return self._columns

    @property
    def parts(self) -> list[Encoding]:
        """Encodings of the parts that truncation cut off: the encoding's own list."""
        _ = self.columns
        return self._parts

    @property
    def ranges(self) -> dict[int, tuple[int, int]]:
        """Start and end of each text among the ids; empty: all ids belong to one text."""
        _ = self.columns
        return self._ranges

    @property
    def ids(self) -> list[int]:
        """Ids of the tokens, including those added by the post-processor and by padding."""
        return [*self._ids]

    type_ids = _column("type_ids", "Type id of each id, such as 0 for the first text and 1 for the second.")
    tokens = _column("tokens", "Tokens as the vocabulary spells them.")
    word_ids = _column("words", "Number of the word of each token in its text; None for ids that were added.")
    offsets = _column("offsets", "Start and end of each token in its text, in characters.")
    special_tokens_mask = _column("special_tokens_mask", "1 for each id that was added, 0 for ids of a text.")
    attention_mask = _column("attention_mask", "1 for each id, 0 for padding.")

    @property
    def words(self) -> list[int | None]:
        """Deprecated: use `word_ids`."""
        import warnings

        message = "Deprecated in 0.9.4: Encoding.words is deprecated, please use Encoding.word_ids instead."
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return [*self.columns["words"]]

    @property
    def overflowing(self) -> list[Encoding]:
        """Encodings of the parts that truncation cut off."""
        source = self._source
        if source is not None and not source.may_overflow:
            return []
        return [part.copied() for part in self.parts]

    @property
    def n_sequences(self) -> int:
        """Number of texts."""
        source = self._source
        return source.n_sequences if source is not None else len(self.ranges) or 1

    @property
    def sequence_ids(self) -> list[int | None]:
        """Number of the text that each id belongs to, 0 or 1; None for ids that were added.

        As in tokenizers, the number is 0 for all ids, also for added ones, after `truncate` has removed ids, and
        for a single text without a post-processor.
        """
        source = self._source
        if source is not None:
            found = source.column(self, "sequences", self._row)
            if found is not None:
                return found
        made: list[int | None] = [None] * len(self)
        for i in range(self.n_sequences):
            start, end = self._range(i)
            made[start:end] = [i] * (end - start)
        return made

    # Finding

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the index of the token that contains a character, or None.

        Args:
            char_pos: position of the character in its text.
            sequence_index: number of the text, 0 or 1.
        """
        at, (start, end) = number(char_pos), self._range(number(sequence_index))
        offsets = self.columns["offsets"]
        return next((i for i in range(start, end) if offsets[i][0] <= at < offsets[i][1]), None)

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the number of the word that contains a character, or None. Arguments: as in `char_to_token`."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self.token_to_word(token)

    def token_to_sequence(self, token_index: int) -> int | None:
        """Return the number of the text that a token belongs to, or None."""
        index = number(token_index)
        if index > len(self):  # not >=: tokenizers accepts the index after the last token, too
            return None
        if not self.ranges:
            return 0
        return next((key for key, (start, end) in self.ranges.items() if start <= index < end), None)

    def token_to_chars(self, token_index: int) -> tuple[int, int] | None:
        """Return the offsets of a token.

        The result is None if the token's number in `sequence_ids` is None, or if the index is too large.
        """
        index = number(token_index)
        if self.token_to_sequence(index) is None or index >= len(self):
            return None
        start, end = self.columns["offsets"][index]
        return start, end

    def token_to_word(self, token_index: int) -> int | None:
        """Return the number of the word that a token belongs to, or None."""
        index = number(token_index)
        if self.token_to_sequence(index) is None or index >= len(self):
            return None
        word: int | None = self.columns["words"][index]
        return word

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """Return the index of the first token of a word and the index after its last token, or None."""
        word, (first, last) = token_id(word_index), self._range(number(sequence_index))
        words = self.columns["words"]
        # A word with a greater number ends the search, as in tokenizers.
        behind = next((i for i in range(first, last) if words[i] is not None and words[i] > word), last)
        found = [i for i in range(first, behind) if words[i] == word]
        return (found[0], found[-1] + 1) if found else None

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """Return start and end of a word in its text, in characters, or None."""
        found = self.word_to_tokens(word_index, sequence_index)
        offsets = self.columns["offsets"]
        return None if found is None else (offsets[found[0]][0], offsets[found[1] - 1][1])

    def _range(self, sequence: int) -> tuple[int, int]:
        return self.ranges.get(sequence, (0, len(self)))

    # Changing

    def pad(
        self,
        length: int,
        *,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
        **options: Any,
    ) -> None:
        """Pad this encoding, and the parts that truncation cut off, to a length, in place.

        An encoding that is longer does not change. direction, pad_id, pad_type_id and pad_token are as in
        `Tokenizer.enable_padding`. Other options have no effect, and cause a warning.
        """
        ignore(options)
        length, pad_id, pad_type_id = number(length), token_id(pad_id), token_id(pad_type_id)
        direction, pad_token = check_direction(direction), of_type(pad_token, str)
        for part in self.parts:
            part.pad(length, direction=direction, pad_id=pad_id, pad_type_id=pad_type_id, pad_token=pad_token)
        n = length - len(self)
        if n <= 0:
            return
        values = (pad_id, pad_type_id, pad_token, None, (0, 0), 1, 0)
        for name, value in zip(COLUMNS, values, strict=True):
            column = self.columns[name]
            at = len(column) if direction == "right" else 0
            column[at:at] = [value] * n
        if direction == "left":
            self._ranges = {key: (start + n, end + n) for key, (start, end) in self._ranges.items()}

    def truncate(self, max_length: int, stride: int = 0, direction: str = "right") -> None:
        """Truncate to a length, in place. The arguments are as in `Tokenizer.enable_truncation`.

        Raises:
            ValueError: the direction is unknown, or stride is not less than a max_length that cuts off some ids.
        """
        limit, stride, n = number(max_length), number(stride), len(self)
        direction = check_direction(direction, "Invalid truncation direction value : {:.60}")
        if limit >= n:
            return
        if not limit:  # with any stride, as in tokenizers
            whole = self.copied()
            self._become(Encoding())
            self._parts = [whole]
            return
        if stride >= limit:
            raise ValueError(f"`stride` must be strictly less than `max_len={limit}`")
        columns = self.columns
        kept, *others = parts_of(Truncation(limit, stride, "", direction == "left"), n, limit)
        self._parts = [
            of_columns({name: column[start:end] for name, column in columns.items()}) for start, end in others
        ]
        for column in columns.values():
            column[:] = column[slice(*kept)]
        self._ranges = {}

    def set_sequence_id(self, sequence_id: int) -> None:
        """Assign all tokens to the text with this number."""
        sequence_id = number(sequence_id)
        _ = self.columns
        self._ranges = {**self._ranges, sequence_id: (0, len(self))}

    def set_type_ids(self, type_id: int) -> None:
        """Set the type id of all tokens."""
        self.columns["type_ids"][:] = [type_id] * len(self)

    @staticmethod
    def merge(encodings: Sequence[Encoding], growing_offsets: bool = True) -> Encoding:
        """Join encodings into one.

        Args:
            encodings: the encodings, in order.
            growing_offsets: make the offsets continue from one encoding to the next.
        """
        made = Encoding()
        for one in sequence(encodings):
            made._merge_with(of_type(one, Encoding), of_type(growing_offsets, bool))
        return made

    def _merge_with(self, other: Encoding, grows: bool) -> None:
        """Append another encoding, in place, and combine the parts that truncation cut off from both."""
        pairs = [(part, second) for part in self.parts for second in (other, *other.parts)]
        pairs += [(self, second) for second in other.parts]
        made = []
        for first, second in pairs:
            joined = first.copied()
            joined._merge_with(second, grows)
            made.append(joined)
        n, columns = len(self), self.columns
        ends = columns["offsets"]
        shift = ends[-1][1] if grows and ends else 0
        for name, column in other.columns.items():
            is_moved = shift and name == "offsets"
            columns[name] += [(start + shift, end + shift) for start, end in column] if is_moved else column
        self._ranges.update({key: (start + n, end + n) for key, (start, end) in other.ranges.items()})
        self._parts = made

    def copied(self) -> Encoding:
        """Return a copy, independent of later changes to this encoding."""
        made = of_columns({name: [*column] for name, column in self.columns.items()})
        made._parts = [part.copied() for part in self.parts]
        made._ranges = {**self.ranges}
        return made

    def __len__(self) -> int:
        return len(self._ids)

    def __repr__(self) -> str:
        names = "ids, type_ids, tokens, offsets, attention_mask, special_tokens_mask, overflowing"
        return f"Encoding(num_tokens={len(self)}, attributes=[{names}])"

    __str__ = __repr__

    def _described(self) -> dict[str, Any]:
        ranges = {str(key): {"start": start, "end": end} for key, (start, end) in self.ranges.items()}
        return {
            **self.columns,
            "overflowing": [part._described() for part in self.parts],
            "sequence_ranges": ranges,
        }

    def __getstate__(self) -> bytes:
        return json.dumps(self._described(), ensure_ascii=False, separators=(",", ":")).encode()

    def __setstate__(self, state: bytes) -> None:
        self._become(of_described(json.loads(state)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Encoding, (), self.__getstate__()


def of_columns(columns: dict[str, list[Any]], ranges: dict[int, tuple[int, int]] | None = None) -> Encoding:
    """Return an encoding that owns these columns. ranges: as the property."""
    made = Encoding.__new__(Encoding)
    made._columns, made._ids, made._parts, made._ranges = columns, columns["ids"], [], ranges or {}
    made._source, made._row = None, 0
    return made


def of_tokens(
    ids: list[int], tokens: list[str], words: list[Any], offsets: list[Any], type_id: int, *, special: int = 0
) -> Encoding:
    """Return an encoding that owns these columns, without padding.

    special: value of special_tokens_mask for each id.
    """
    n = len(ids)
    return of_columns(
        {
            "ids": ids,
            "type_ids": [type_id] * n,
            "tokens": tokens,
            "words": words,
            "offsets": offsets,
            "special_tokens_mask": [special] * n,
            "attention_mask": [1] * n,
        }
    )


def of_described(described: dict[str, Any]) -> Encoding:
    """Restore an encoding from its pickled form."""
    columns = {name: [*described[name]] for name in COLUMNS}
    columns["offsets"] = [(start, end) for start, end in columns["offsets"]]
    made = of_columns(columns)
    made._parts = [of_described(part) for part in described["overflowing"]]
    made._ranges = {int(key): (one["start"], one["end"]) for key, one in described["sequence_ranges"].items()}
    return made


def check_direction(
    direction: Any, message: str = "Unknown `direction`: `{:.60}`. Use one of `left` or `right`"
) -> str:
    """Return a direction. Raises ValueError with the message if it is not "left" or "right"."""
    direction = of_type(direction, str)
    if direction not in _SIDES:
        raise ValueError(message.format(direction))
    return str(direction)
