"""Exceptions and warnings of fastbpe. Each error is also the builtin exception that a caller would catch."""

from __future__ import annotations


class FastbpeError(Exception):
    """Base class of all errors that fastbpe raises on purpose.

    >>> import fastbpe
    >>> try:
    ...     fastbpe.Tokenizer.from_ranks({b"a": 0}, pattern=None)
    ... except fastbpe.FastbpeError as error:
    ...     print(type(error).__name__)
    VocabularyError
    """


class PatternError(FastbpeError, ValueError):
    """A split pattern does not parse, or cannot be used to split text.

    >>> import fastbpe
    >>> try:
    ...     fastbpe.count_pieces(["text"], pattern="[a-z")
    ... except fastbpe.PatternError as error:
    ...     print(isinstance(error, ValueError))
    True
    """


class VocabularyError(FastbpeError, ValueError):
    """A vocabulary contradicts itself: a byte is missing, a rank or a token is given twice, …

    >>> import fastbpe
    >>> try:
    ...     fastbpe.Tokenizer.from_ranks({b"a": 0}, pattern=None)
    ... except fastbpe.VocabularyError as error:
    ...     print(isinstance(error, ValueError))
    True
    """


class SpecialTokenError(FastbpeError, ValueError):
    """A special token cannot be used, or a text holds one that the caller did not allow.

    >>> import fastbpe
    >>> tokenizer = fastbpe.train(["ab"], vocab_size=258, special_tokens=["<end>"], progress=False)
    >>> try:
    ...     tokenizer.encode("ab<end>")
    ... except fastbpe.SpecialTokenError as error:
    ...     print(str(error).splitlines()[0])
    Encountered text corresponding to disallowed special token '<end>'.
    """

    @classmethod
    def disallowed(cls, token: str) -> SpecialTokenError:
        """Make the error for a text with a special token that is not allowed.

        The message is that of tiktoken 0.14.0, letter for letter, since callers match on it.

        Args:
            token: str – the special token.
        """
        return cls(
            f"Encountered text corresponding to disallowed special token {token!r}.\n"
            "If you want this text to be encoded as a special token, "
            f"pass it to `allowed_special`, e.g. `allowed_special={{{token!r}, ...}}`.\n"
            f"If you want this text to be encoded as normal text, disable the check for this token "
            f"by passing `disallowed_special=(enc.special_tokens_set - {{{token!r}}})`.\n"
            "To disable this check for all special tokens, pass `disallowed_special=()`.\n"
        )

    @classmethod
    def is_ordinary(cls, token: str, token_id: int) -> SpecialTokenError:
        """Make the error for a special token whose bytes are those of an ordinary token.

        Args:
            token: str – the special token.
            token_id: int – id of the ordinary token.
        """
        return cls(
            f"special token {token!r} is also the ordinary token {token_id}: text could not tell them apart; "
            "choose another name"
        )


class InvalidTokenError(FastbpeError, KeyError):
    """An id is no token of the vocabulary.

    >>> import fastbpe
    >>> tokenizer = fastbpe.train(["ab"], vocab_size=257, progress=False)
    >>> try:
    ...     tokenizer.decode([300])
    ... except fastbpe.InvalidTokenError as error:
    ...     print(isinstance(error, KeyError))
    True
    """

    # KeyError.__str__ is the repr of the argument, which quotes the message.
    __str__ = Exception.__str__


class CheckError(FastbpeError, AssertionError):
    """An assertion of the library that a drop-in replaces does not hold."""


class FormatError(FastbpeError, ValueError):
    """A file breaks the rules of its format.

    >>> import fastbpe
    >>> try:
    ...     fastbpe.load(b"no vocabulary")
    ... except fastbpe.FormatError as error:
    ...     print(isinstance(error, ValueError))
    True
    """


class DownloadError(FastbpeError, OSError):
    """A file is not on this machine, and cannot or must not be downloaded."""


class VocabularyNotFoundError(FastbpeError, FileNotFoundError):
    """A name is no file, no folder, and no vocabulary on this machine."""

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


class TrainingError(FastbpeError, ValueError):
    """Training cannot start, or cannot do what the options ask for.

    >>> import fastbpe
    >>> try:
    ...     fastbpe.train(["text"], vocab_size=100)
    ... except fastbpe.TrainingError as error:
    ...     print(error)
    vocab_size=100 is too small: 256 bytes and 0 special tokens need 256
    """


class OptionError(TrainingError, TypeError):
    """Training has no option of this name, or the option would have no effect.

    >>> import fastbpe
    >>> try:
    ...     fastbpe.train(["text"], vocab_size=258, min_frequency=2)
    ... except fastbpe.OptionError as error:
    ...     print(error)
    'min_frequency' is no option of training in byte mode: did you mean min_count?
    """


class SpecError(TrainingError):
    """An option or a text that sentencepiece refuses to train with.

    Args:
        message: str – the error for users of fastbpe.
        detail: str – end of the message of sentencepiece 0.2.3, for the drop-in.
        code: str – name of its error code there.
    """

    def __init__(self, message: str, detail: str, code: str = "INTERNAL") -> None:
        super().__init__(message)
        self.detail, self.code = detail, code


class FormatWarning(UserWarning):
    """A file asks for a step that fastbpe does not apply.

    >>> import fastbpe
    >>> issubclass(fastbpe.FormatWarning, UserWarning)
    True
    """


class TrainingWarning(UserWarning):
    """Training learned fewer merges than asked for, or left out a part of the text.

    >>> import fastbpe, warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     tokenizer = fastbpe.train(["ab"], vocab_size=300, progress=False)
    >>> caught[0].category is fastbpe.TrainingWarning, tokenizer.vocab_size
    (True, 257)
    """


def note_place(error: BaseException, place: str) -> None:
    """Add a note to an error that names the item it belongs to.

    Tracebacks show notes from Python 3.11 on; before, `__notes__` holds them for pytest and others.

    Args:
        error: the error.
        place: str – the item, such as "document 3".
    """
    vars(error).setdefault("__notes__", []).append(f"for {place}")
