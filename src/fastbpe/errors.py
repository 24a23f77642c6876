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
        """The error for a special token in text that may not hold it; it names the four ways out.

        The wording of its first line and the argument names are tiktoken's, which callers match on.
        """
        return cls(
            f"Encountered text corresponding to disallowed special token {token!r}.\n"
            f"To encode it as a special token, pass it in `allowed_special`, e.g. "
            f"`allowed_special={{{token!r}, ...}}`.\n"
            f"To encode it as normal text, take it out of the check: "
            f"`disallowed_special=(enc.special_tokens_set - {{{token!r}}})`.\n"
            "To check for no special token at all, pass `disallowed_special=()`.\n"
            "To encode text that is only ever text, use `encode_ordinary`.\n"
        )


class InvalidTokenError(FastbpeError, KeyError):
    """An id that is no token of the vocabulary."""

    # KeyError shows the repr of its argument; a sentence should read as one.
    __str__ = Exception.__str__


class FormatError(FastbpeError, ValueError):
    """A file that is not what its format says it must be."""


class TrainingError(FastbpeError, ValueError):
    """Training that cannot start or cannot give what was asked for."""
