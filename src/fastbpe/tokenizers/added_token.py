"""AddedToken: a token that is searched for in texts before they are split."""

from __future__ import annotations

from fastbpe._utils.arguments import is_text
from fastbpe.huggingface.checked_arguments import ignore, of_type
from fastbpe.tokenizers.components import is_theirs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


class AddedToken:
    r"""Token that is searched for in texts before they are split.

    Args:
        content: text of the token; None: "".
        single_word: match only if no letter, mark, decimal digit, joiner, or connector such as `_` (Rust's `\w`)
            is next to it.
        lstrip: also match the white space on its left.
        rstrip: also match the white space on its right.
        normalized: search normalized text for it; None: True unless the token is special.
        special: make it a special token, which decoding can leave out.
        ignored: other arguments have no effect, and cause a warning.

    Raises:
        TypeError: an argument has the wrong type.
        UnicodeEncodeError: the content has a lone surrogate.
    """

    def __init__(
        self,
        content: str | None = None,
        *,
        single_word: bool = False,
        lstrip: bool = False,
        rstrip: bool = False,
        normalized: bool | None = None,
        special: bool = False,
        **ignored: Any,
    ) -> None:
        ignore(ignored)
        self._content: str = "" if content is None else of_type(content, str)
        self._special: bool = of_type(special, bool)
        self._single_word: bool = of_type(single_word, bool)
        self._lstrip: bool = of_type(lstrip, bool)
        self._rstrip: bool = of_type(rstrip, bool)
        self._normalized: bool | None = None if normalized is None else of_type(normalized, bool)

    @property
    def single_word(self) -> bool:
        """True if the token matches only whole words."""
        return self._single_word

    @property
    def lstrip(self) -> bool:
        """True if the token also matches white space before it."""
        return self._lstrip

    @property
    def rstrip(self) -> bool:
        """True if the token also matches white space after it."""
        return self._rstrip

    @property
    def content(self) -> str:
        """Text of the token."""
        return self._content

    @content.setter
    def content(self, value: str) -> None:
        self._content = of_type(value, str)

    @property
    def special(self) -> bool:
        """True if decoding can leave the token out."""
        return self._special

    @special.setter
    def special(self, value: bool) -> None:
        self._special = of_type(value, bool)

    @property
    def normalized(self) -> bool:
        """True if normalized text is searched for the token."""
        return not self._special if self._normalized is None else self._normalized

    def state(self) -> dict[str, Any]:
        """Return the JSON of the token, without an id."""
        return {"content": self._content} | {flag: getattr(self, flag) for flag in FLAGS}

    def copied(self) -> AddedToken:
        """Return a copy with a fixed `normalized`: setting `special` later does not change it.

        A token of tokenizers behaves in this way after unpickling.
        """
        return AddedToken(**self.state())

    def __getstate__(self) -> dict[str, Any]:
        return self.state()

    def __setstate__(self, state: dict[str, Any]) -> None:
        AddedToken.__init__(self, **state)

    def __eq__(self, other: object) -> bool:
        return self.state() == other.state() if isinstance(other, AddedToken) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._content)

    def _compared(self, other: object) -> bool:
        """Return False for another added token, as tokenizers does: none is before or after another."""
        return False if isinstance(other, AddedToken) else NotImplemented

    __lt__ = __le__ = __gt__ = __ge__ = _compared

    def __str__(self) -> str:
        return self._content

    def __repr__(self) -> str:
        order = ("rstrip", "lstrip", "single_word", "normalized", "special")
        return f'AddedToken("{self._content}", {", ".join(f"{flag}={getattr(self, flag)}" for flag in order)})'


def checked(tokens: Any, *, special: bool) -> list[AddedToken]:
    """Return copies of the tokens that a caller gave; each str becomes an AddedToken.

    special: make all of them special; this also changes the caller's AddedToken objects.

    Raises TypeError if tokens is not a list, or an item is not an AddedToken or a str without lone surrogates.
    """
    made = []
    for token in of_type(tokens, list):
        if is_text(token):
            made.append(AddedToken(token, special=special))
        elif isinstance(token, AddedToken) or (is_theirs(token) and type(token).__name__ == "AddedToken"):
            if special:
                token.special = True
            made.append(AddedToken(token.content, **{flag: getattr(token, flag) for flag in FLAGS}))
        else:
            raise TypeError("Input must be a List[Union[str, AddedToken]]")
    return made
