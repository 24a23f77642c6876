"""The exceptions fastbpe raises, each also the builtin that a caller would already catch."""

from __future__ import annotations


class FastbpeError(Exception):
    """Base class of every error that fastbpe raises on purpose."""


class PatternError(FastbpeError, ValueError):
    """A split pattern that does not parse, or that cannot be used to split text."""


class VocabularyError(FastbpeError, ValueError):
    """A vocabulary that contradicts itself: a missing byte, a rank or a token given twice, …"""


class SpecialTokenError(FastbpeError, ValueError):
    """A special token that cannot be used, or text that holds one which is not allowed there."""

    @classmethod
    def disallowed(cls, token: str) -> SpecialTokenError:
        """The error for a special token in text that may not hold it.

        To the letter what tiktoken 0.14.0 says, since callers match on it.
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
        """The error for a special token with the bytes of another token."""
        return cls(
            f"special token {token!r} is also the ordinary token {token_id}: text could not tell them apart; "
            "choose another name"
        )


class InvalidTokenError(FastbpeError, KeyError):
    """An id that is no token of the vocabulary."""

    # KeyError shows the repr of its argument; a sentence should read as one.
    __str__ = Exception.__str__


class CheckError(FastbpeError, AssertionError):
    """What the library that a drop-in stands in for asserts."""


class FormatError(FastbpeError, ValueError):
    """A file that is not what its format says it must be."""


class DownloadError(FastbpeError, OSError):
    """A file that is not here, and could not or must not be downloaded."""


class VocabularyNotFoundError(FastbpeError, FileNotFoundError):
    """A name that is neither a file or folder nor a vocabulary that is on this machine."""

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


class TrainingError(FastbpeError, ValueError):
    """Training that cannot start or cannot give what was asked for."""


class OptionError(TrainingError, TypeError):
    """An option that training does not have, or that has no effect there."""


class SpecError(TrainingError):
    """An option or a text that sentencepiece would not train with.

    detail: the end of what sentencepiece 0.2.3 says; code: the kind of error that it is there.
    """

    def __init__(self, message: str, detail: str, code: str = "INTERNAL") -> None:
        super().__init__(message)
        self.detail, self.code = detail, code


class FormatWarning(UserWarning):
    """A file that asks for what fastbpe does not do with ids."""


class TrainingWarning(UserWarning):
    """Training that ended before it had learned all that was asked for, or that left out a part of the text."""


def note_place(error: BaseException, place: str) -> None:
    """Say in a note which of several things an error is for: in its traceback from Python 3.11 on.

    Before, it stands in `__notes__` all the same, where pytest and others look for it.
    """
    vars(error).setdefault("__notes__", []).append(f"for {place}")
