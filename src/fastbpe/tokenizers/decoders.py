"""Decoders and DecodeStream, as in the module `decoders` of tokenizers.

A decoder joins tokens, spelled as in the vocabulary. A tokenizer calls its decoder only if fastbpe's own
decoding cannot be used; the results are the same.
"""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf

from fastbpe.formats.huggingface.decoder_json import MAX_DEPTH, canonical
from fastbpe.huggingface import id_stream
from fastbpe.huggingface.checked_arguments import character, number, of_type, sequence, token_id
from fastbpe.huggingface.id_stream import REPLACEMENT, Texts, text_within
from fastbpe.tokenizers.components import EPOCH, Component, Steps, by_kind, field, plain
from fastbpe.tokenizers.components import pattern as _pattern
from fastbpe.tokenizers.pre_tokenizers import scheme

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

__all__ = [
    "CTC",
    "BPEDecoder",
    "ByteFallback",
    "ByteLevel",
    "DecodeStream",
    "Decoder",
    "Fuse",
    "Metaspace",
    "Replace",
    "Sequence",
    "Strip",
    "WordPiece",
]


class Decoder(Component):
    """Base of all decoders."""

    written_name = "PyDecoder"

    def decode(self, tokens: SequenceOf[str]) -> str:
        """Join tokens to a text.

        Args:
            tokens: list or other sequence of str, spelled as in the vocabulary.

        Raises:
            TypeError: it is not a sequence of str.
            UnicodeEncodeError: a token has a lone surrogate.

        >>> from fastbpe.tokenizers import decoders
        >>> decoders.ByteLevel().decode(["a", "Ġb"])
        'a b'
        """
        return "".join(self.chain([of_type(token, str) for token in sequence(tokens)]))

    #: (JSON, steps made from it), for the next call.
    _made: tuple[dict[str, Any], list[Any]] | None = None

    def chain(self, tokens: list[str]) -> list[str]:
        """Apply this step, and return the new tokens."""
        if self.written is None:
            state = self.state()
            if self._made is None or self._made[0] != state:
                from fastbpe.normalization.decoder_steps import make_steps  # here: few programs need it

                self._made = state, make_steps(state)
            for step in self._made[1]:
                tokens = step(tokens)
            return tokens
        return [of_type(token, str) for token in sequence(self.written.decode_chain(tokens))]

    @staticmethod
    def custom(decoder: Any) -> Decoder:
        """Create a decoder from an object written in Python. It cannot be saved, pickled or put into a Sequence.

        Args:
            decoder: object with a method `decode_chain`, which takes the list of tokens (str) and returns a list
                of texts to join.

        >>> class Upper:
        ...     def decode_chain(self, tokens):
        ...         return [token.upper() for token in tokens]
        >>> from fastbpe.tokenizers import decoders
        >>> decoders.Decoder.custom(Upper()).decode(["a", "b"])
        'AB'
        """
        made = Decoder.__new__(Decoder)
        made.written = decoder
        return made


class ByteLevel(Decoder):
    """Turn GPT-2's byte characters into text.

    Args:
        ignored: arguments by name have no effect.
    """

    kind = "ByteLevel"
    fields: ClassVar[Mapping[str, type]] = {"add_prefix_space": bool, "trim_offsets": bool, "use_regex": bool}
    defaults: ClassVar[Mapping[str, Any]] = {"add_prefix_space": True, "trim_offsets": True, "use_regex": True}

    def __init__(self, **ignored: Any) -> None:
        self._set(**self.defaults)


ByteFallback = plain(Decoder, "ByteFallback", "Turns byte tokens such as <0x0A> into text.")
Fuse = plain(Decoder, "Fuse", "Joins all tokens into one.")


class Strip(Decoder):
    """Remove characters from the ends of each token.

    Args:
        content: the character.
        left: maximum number to remove at the start.
        right: maximum number to remove at the end.
    """

    kind = "Strip"
    fields: ClassVar[Mapping[str, type]] = {"content": str, "start": int, "stop": int}

    def __init__(self, content: str = " ", left: int = 0, right: int = 0) -> None:
        self._set(content=character(content), start=number(left), stop=number(right))

    content = field("content", "Character to remove.", character)
    start = field("start", "Maximum number of characters to remove at the start.", number)
    stop = field("stop", "Maximum number of characters to remove at the end.", number)


class Replace(Decoder):
    """Replace each occurrence of a text, or each match of a `Regex`, in each token.

    Args:
        pattern: str or `Regex`.
        content: replacement text.
    """

    kind = "Replace"
    fields: ClassVar[Mapping[str, type]] = {"pattern": dict, "content": str}
    checked: ClassVar[Mapping[str, str]] = {"pattern": "pattern"}

    def __init__(self, pattern: Any, content: str) -> None:
        self._set(pattern=_pattern(pattern), content=content)


class Metaspace(Decoder):
    """Turn a character, by default U+2581, into spaces.

    Args:
        replacement: the character that represents a space.
        prepend_scheme: unless it is "never", remove the character from the first token instead.
        split: has no effect here.
    """

    kind = "Metaspace"
    fields: ClassVar[Mapping[str, type]] = {"replacement": str, "prepend_scheme": str, "split": bool}

    def __init__(self, replacement: str = "\u2581", prepend_scheme: str = "always", split: bool = True) -> None:
        self._set(replacement=character(replacement), prepend_scheme=scheme(prepend_scheme), split=split)

    replacement = field("replacement", "Character that represents a space.", character)
    prepend_scheme = field(
        "prepend_scheme", "Unless it is never, the first token loses all its replacement characters.", scheme
    )
    split = field("split", "Has no effect here.")


class BPEDecoder(Decoder):
    """Turn each suffix, wherever it is in a token, into a space; remove it from the last token.

    Args:
        suffix: text that marks the end of a word.
    """

    kind = "BPEDecoder"
    fields: ClassVar[Mapping[str, type]] = {"suffix": str}

    def __init__(self, suffix: str = "</w>") -> None:
        self._set(suffix=suffix)

    suffix = field("suffix", "Text at the end of words.")


class Sequence(Steps, Decoder):
    """Several decoders, applied in order.

    Args:
        decoders_py: list of decoders.

    Raises:
        TypeError: it is not a list of decoders.
        ValueError: a decoder is written in Python.
    """

    key = "decoders"
    base = Decoder

    def __init__(self, decoders_py: list[Any]) -> None:
        self._take(decoders_py)
        if self._depth > MAX_DEPTH:  # a tokenizer.json may not nest so many
            self._flatten()
        if any(step.written is not None for step in self._steps):
            raise ValueError("a decoder written in Python cannot be a step of a Sequence")


class WordPiece(Decoder):
    """Join the parts of words, and put spaces between words.

    Args:
        prefix: text before a part that continues a word.
        cleanup: remove spaces before punctuation and English contractions.
    """

    kind = "WordPiece"
    fields: ClassVar[Mapping[str, type]] = {"prefix": str, "cleanup": bool}

    def __init__(self, prefix: str = "##", cleanup: bool = True) -> None:
        self._set(prefix=prefix, cleanup=cleanup)

    prefix = field("prefix", "Text before a part that continues a word.")
    cleanup = field("cleanup", "Remove spaces before punctuation and English contractions.")


class CTC(Decoder):
    """Remove repeated tokens and padding from the output of connectionist temporal classification.

    Args:
        pad_token: text of padding.
        word_delimiter_token: text between words.
        cleanup: turn word_delimiter_token into a space, and remove spaces before punctuation and English
            contractions.
    """

    kind = "CTC"
    fields: ClassVar[Mapping[str, type]] = {"pad_token": str, "word_delimiter_token": str, "cleanup": bool}

    def __init__(self, pad_token: str = "<pad>", word_delimiter_token: str = "|", cleanup: bool = True) -> None:
        self._set(pad_token=pad_token, word_delimiter_token=word_delimiter_token, cleanup=cleanup)

    pad_token = field("pad_token", "Text of padding.")
    word_delimiter_token = field("word_delimiter_token", "Text between words.")
    cleanup = field(
        "cleanup",
        "Turn word_delimiter_token into a space, and remove spaces before punctuation and English contractions.",
    )


_CLASSES = by_kind(ByteLevel, ByteFallback, Fuse, Strip, Replace, Metaspace, BPEDecoder, WordPiece, CTC, Sequence)


def find(described: Any) -> Any:
    """Create the decoder that a tokenizer.json describes. Raises FormatError if it is invalid."""
    state = canonical(described)
    return _CLASSES[state["type"]].from_state(state)


Sequence.find = staticmethod(find)


class _PlainStream:
    """Stream that keeps the latest ids, and decodes all of them at each step.

    ids: ids that come before the first step.
    skip_special_tokens: leave special tokens out.
    """

    def __init__(self, ids: SequenceOf[int] | None = None, skip_special_tokens: bool | None = False) -> None:
        self._ids = [] if ids is None else [*map(token_id, sequence(ids))]
        self._skips = skip_special_tokens is not None and of_type(skip_special_tokens, bool)
        #: Text of the first `_n_prefix` of `_ids`, which a step has returned, or which came before the first step.
        self._prefix = ""
        self._n_prefix = 0

    def step(self, tokenizer: Any, id: int | SequenceOf[int]) -> str | None:
        """Add an id, or a list of ids, and return the text that it completes; None if no text is complete.

        Args:
            id: an id, or a list of ids.

        Raises:
            TypeError: id is neither an id nor a list of ids.
            Exception: the text of the ids does not begin with the text that they had before this step.
        """
        new = _ids_of(id)
        if not self._prefix and self._ids:
            text = tokenizer.decode(self._ids, self._skips)
            if not text.endswith(REPLACEMENT):
                self._prefix, self._n_prefix = text, len(self._ids)
        self._ids += new
        text = tokenizer.decode(self._ids, self._skips)
        # In bytes, as in tokenizers: "é", then "ab", is no new text; "é", then "abc", is an error.
        if len(text.encode()) <= len(self._prefix.encode()) or text.endswith(REPLACEMENT):
            return None
        if not text.startswith(self._prefix):
            raise Exception("Invalid prefix encountered while decoding stream")  # the class that tokenizers raises
        completed: str = text[len(self._prefix) :]
        self._ids = self._ids[self._n_prefix :]  # the new ids and those that waited: context for the next ones
        self._prefix, self._n_prefix = tokenizer.decode(self._ids, self._skips), len(self._ids)
        return completed

    def __deepcopy__(self, memo: dict[int, Any]) -> _PlainStream:
        made = _PlainStream.__new__(_PlainStream)
        made.__dict__.update(self.__dict__, _ids=[*self._ids])
        return made


class DecodeStream(id_stream.DecodeStream):
    """Stream that decodes ids as they arrive.

    Args:
        ids: ids that come before the first step.
        skip_special_tokens: leave special tokens out.

    >>> from fastbpe.tokenizers import Tokenizer, models, decoders
    >>> tokenizer = Tokenizer(models.BPE({"a": 0, "b": 1}, []))
    >>> tokenizer.decoder = decoders.Fuse()
    >>> stream = decoders.DecodeStream()
    >>> [stream.step(tokenizer, id) for id in (0, 1)]
    ['a', 'b']
    """

    __slots__ = ()
    slow = _PlainStream

    @staticmethod
    def texts_of(tokenizer: Any, *, skips: bool) -> Texts | None:
        seen = EPOCH[0]
        found = tokenizer._stream_texts(skips) if hasattr(tokenizer, "_stream_texts") else None
        if found is None:
            return None
        native, known = found
        return Texts(EPOCH, seen, known, lambda id: text_within(native, id, skips=skips))


def _ids_of(id: Any) -> list[int]:
    """Return the ids of a step as a list. id: an id or a sequence of ids. Raises TypeError for other values."""
    try:
        return [token_id(id)]
    except (OverflowError, TypeError):
        pass
    try:
        return [*map(token_id, sequence(id))]
    except (OverflowError, TypeError):
        raise TypeError("StreamInput must be either an integer or a list of integers") from None
