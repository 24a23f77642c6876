"""Exceptions and warnings of fastbpe. Each error is also the builtin exception that a caller would catch."""

from __future__ import annotations


class FastbpeError(Exception):
    """Base class of the errors of fastbpe.

    >>> import fastbpe
    >>> try:
    ...     fastbpe.Tokenizer.from_ranks({b"a": 0}, pattern=None)
    ... except fastbpe.FastbpeError as error:
    ...     print(type(error).__name__)
    VocabularyError
    """


class PatternError(FastbpeError, ValueError):
    """Error for a split pattern that does not parse, or that cannot split text.

    >>> import fastbpe
    >>> try:
    ...     fastbpe.count_pieces(["text"], pattern="[a-z")
    ... except fastbpe.PatternError as error:
    ...     print(isinstance(error, ValueError))
    True
    """


class VocabularyError(FastbpeError, ValueError):
    """Error for an inconsistent vocabulary (a missing byte, a rank given twice, …), or one that a call cannot use.

    >>> import fastbpe
    >>> try:
    ...     fastbpe.Tokenizer.from_ranks({b"a": 0}, pattern=None)
    ... except fastbpe.VocabularyError as error:
    ...     print(isinstance(error, ValueError))
    True
    """


class SpecialTokenError(FastbpeError, ValueError):
    """Error for a special token that cannot be used, or that a text contains although the caller did not allow it.

    >>> import fastbpe
    >>> tokenizer = fastbpe.train(["ab"], vocab_size=258, special_tokens=["<end>"], progress=False)
    >>> try:
    ...     tokenizer.encode("ab<end>")
    ... except fastbpe.SpecialTokenError as error:
    ...     print(str(error).splitlines()[0])
    Encountered text corresponding to disallowed special token '<end>'.
    """

    @classmethod
    def disallowed(cls, token: str, every: str) -> SpecialTokenError:
        """Create the error for a text with a special token that is not allowed.

        The message is tiktoken 0.14.0's, because callers match it; with tiktoken's `every`, it is exactly the
        same.

        Args:
            token: str – the special token.
            every: str – expression for the set of all special tokens; "enc.special_tokens_set" in tiktoken.
        """
        return cls(
            f"Encountered text corresponding to disallowed special token {token!r}.\n"
            "If you want this text to be encoded as a special token, "
            f"pass it to `allowed_special`, e.g. `allowed_special={{{token!r}, ...}}`.\n"
            f"If you want this text to be encoded as normal text, disable the check for this token "
            f"by passing `disallowed_special=({every} - {{{token!r}}})`.\n"
            "To disable this check for all special tokens, pass `disallowed_special=()`.\n"
        )

    @classmethod
    def is_ordinary(
        cls, token: str, token_id: int, *, special: bool = True, may_share: bool = False
    ) -> SpecialTokenError:
        """Create the error for a new token that has the bytes of an ordinary token.

        Args:
            token: str – the new token.
            token_id: int – id of the ordinary token.
            special: bool – whether the new token is special.
            may_share: bool – whether a token that is not special may have the bytes of the ordinary token if it
                also has its id.
        """
        if not special:
            known = f"as the ordinary token {token_id}"
            message = f"token {token!r} is already in the vocabulary, {known}: leave it out"
            way_out = f", or pass its id, to find it whole within any text: {{{token!r}: {token_id}}}"
            return cls(message + way_out if may_share else message)
        return cls(
            f"special token {token!r} is also the ordinary token {token_id}: in a text, nothing would tell them "
            "apart; choose another name"
        )


class InvalidTokenError(FastbpeError, KeyError):
    """Error for an id or a token that the vocabulary lacks.

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


class MissingByteError(VocabularyError, KeyError):
    """Error for a text that needs the token of a byte in a vocabulary that lacks it.

    >>> import fastbpe
    >>> encoding = fastbpe.tiktoken.Encoding("a", pat_str=".+", mergeable_ranks={b"a": 0}, special_tokens={})
    >>> try:
    ...     encoding.encode("ab")
    ... except fastbpe.MissingByteError as error:
    ...     print(isinstance(error, ValueError), isinstance(error, KeyError))
    True True
    """

    # KeyError.__str__ is the repr of the argument, which quotes the message.
    __str__ = Exception.__str__


class NoUnknownTokenError(VocabularyError):
    """Error for a text that needs the unknown token of a model that lacks it.

    >>> import fastbpe
    >>> tokenizer = fastbpe.tokenizers.Tokenizer(fastbpe.tokenizers.models.WordLevel({"a": 0}))
    >>> try:
    ...     tokenizer.encode("b")
    ... except fastbpe.errors.NoUnknownTokenError as error:
    ...     print(error)
    WordLevel error: Missing [UNK] token from the vocabulary
    """

    def saying(self, text: str) -> NoUnknownTokenError:
        """Return this error with another library's text. A note has fastbpe's text, which may say what to do."""
        made = NoUnknownTokenError(text)
        vars(made)["__notes__"] = [str(self), *vars(self).get("__notes__", ())]
        return made


class CheckError(FastbpeError, AssertionError):
    """Error of a drop-in where the original library fails an assertion, or of `compare --parallel`.

    `fastbpe compare --parallel` raises it if the texts have different numbers of lines, or no lines.
    """


class FormatError(FastbpeError, ValueError):
    """Error for a file that breaks the rules of its format, is not the expected one, or cannot store a tokenizer.

    >>> import fastbpe
    >>> try:
    ...     fastbpe.load(b"no vocabulary")
    ... except fastbpe.FormatError as error:
    ...     print(isinstance(error, ValueError))
    True
    """


class ChatError(FastbpeError, ValueError):
    """Error for a chat that cannot be counted: there is no template, or the template or the messages are invalid.

    >>> import fastbpe
    >>> try:
    ...     fastbpe.Tokenizer.from_merges([], pattern=None).count_messages([])
    ... except ValueError as error:
    ...     print(error)
    messages is empty: a chat has at least one message
    """


class DownloadError(FastbpeError, OSError):
    """Error for a file that is not on this machine, and that cannot or must not be downloaded."""


class VocabularyNotFoundError(FastbpeError, FileNotFoundError):
    """Error for a name that is not a file, folder or vocabulary on this machine.

    Attributes:
        looked_at: tuple of str – the files, folders and repositories that were searched; () for a path.
    """

    looked_at: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


class TrainingError(FastbpeError, ValueError):
    """Error for a training run that cannot start, or cannot meet its options.

    >>> import fastbpe
    >>> try:
    ...     fastbpe.train(["text"], vocab_size=100)
    ... except fastbpe.TrainingError as error:
    ...     print(error)
    vocab_size=100 is too small: the 256 bytes need 256 ids
    """


class OptionError(TrainingError, TypeError):
    """Error for an option that training, counting or reading does not have, or that would have no effect.

    >>> import fastbpe
    >>> try:
    ...     fastbpe.train(["text"], vocab_size=258, min_frequency=2)
    ... except fastbpe.OptionError as error:
    ...     print(error)
    min_frequency= is not an option of training in byte mode: did you mean min_count?
    """


class SpecError(TrainingError):
    """Error for an option or a text that sentencepiece refuses to train with.

    Args:
        message: str – the error for users of fastbpe.
        detail: str – end of the message of sentencepiece 0.2.3, for the drop-in. pickle sets it later.
        code: str – name of its error code in sentencepiece.
    """

    def __init__(self, message: str, detail: str = "", code: str = "INTERNAL") -> None:
        super().__init__(message)
        self.detail, self.code = detail, code


class WorkerError(FastbpeError, RuntimeError):
    """Error for a task that Spark or Ray gave up, because the process that ran it died at each try."""


class FormatWarning(UserWarning):
    """Warning about a file, such as a step that fastbpe does not apply, ids that may differ, or a file read twice.

    >>> import fastbpe
    >>> issubclass(fastbpe.FormatWarning, UserWarning)
    True
    """


class TrainingWarning(UserWarning):
    """Warning about training, such as fewer merges than requested, text left out, or a source that looks wrong.

    >>> import fastbpe, warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     tokenizer = fastbpe.train(["ab"], vocab_size=300, progress=False)
    >>> caught[0].category is fastbpe.TrainingWarning, tokenizer.vocab_size
    (True, 257)
    """


def note_place(error: BaseException, place: str) -> None:
    """Add a note to an error: the item in which it occurred.

    Tracebacks show notes from Python 3.11 on; in older versions, `__notes__` stores them for pytest and others.

    Args:
        error: the error.
        place: str – the item, such as "document 3".
    """
    vars(error).setdefault("__notes__", []).append(f"for {place}")
