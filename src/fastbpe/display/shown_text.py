"""ShownText: the tokens of one text, as an object that print, notebooks and rich can show."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fastbpe.display import html, painting
from fastbpe.display.layout import Details
from fastbpe.display.shown_tokens import ShownToken, Text, Viewed, ids_of, shown_tokens, sizes_of, summary


class ShownText:
    r"""Tokens of a text, for display. `fastbpe.show` returns it.

    A notebook shows it in colours, rich prints it in colours, `str()` puts bars between the tokens.

    Attributes:
        tokens: tuple of the tokens, each with id, bytes, text, start, end, kind ("ordinary", "byte" for part of a
            character, "superword", "special", "added" or "unknown"), and source: the text of an unknown one.
        ids: list of their ids.
        n_characters, n_bytes: size of the text.

    >>> import fastbpe
    >>> shown = fastbpe.show(fastbpe.Tokenizer.from_merges([(97, 98)], pattern=None), "ab c\n")
    >>> print(shown)
    ab|·|c|↵
    >>> shown.ids, shown.tokens[0].text
    ([256, 32, 99, 10], 'ab')
    """

    __slots__ = ("_details", "n_bytes", "n_characters", "tokens")

    def __init__(self, tokens: Sequence[ShownToken], n_characters: int, n_bytes: int, details: Details) -> None:
        self.tokens = tuple(tokens)
        self.n_characters, self.n_bytes = n_characters, n_bytes
        self._details = details

    @property
    def ids(self) -> list[int]:
        """New list of the ids."""
        return ids_of(self.tokens)

    @property
    def summary(self) -> str:
        """Counts of tokens, characters and bytes, in words."""
        return summary(len(self.tokens), self.n_characters, self.n_bytes)

    def to_html(self, title: str = "Tokens") -> str:
        """Return a whole HTML page that needs no other file and no script.

        Args:
            title: heading of the page.
        """
        return "".join(html.page([html.Block("", self.summary, self.tokens)], self._details, title))

    def __len__(self) -> int:
        return len(self.tokens)

    def __str__(self) -> str:
        return painting.draw(self.tokens, self._details)

    def __repr__(self) -> str:
        return f"<fastbpe.ShownText of {self.summary}>"

    def __rich__(self) -> painting.RichTokens:
        return painting.RichTokens(self.tokens, self._details)

    def _repr_html_(self) -> str:
        return html.fragment(self.tokens, self._details, self.summary)


def show(
    tokenizer: Viewed,
    text: Text,
    *,
    allowed_special: str | Collection[str] = frozenset(),
    ids: bool = False,
    bytes: bool = False,
    offsets: bool = False,
) -> ShownText:
    r"""Encode a text and show its tokens: coloured in a notebook and in rich, separated by bars with `print`.

    White space and control characters are shown as visible signs, and parts of characters as bytes.

    Args:
        tokenizer: Tokenizer.
        text: str, or bytes of UTF-8.
        allowed_special: special tokens that become their ids: a set, or "all". Others are ordinary text here.
        ids: show the ids below the tokens.
        bytes: show the bytes below the tokens, in hexadecimal.
        offsets: show start and end below the tokens, in characters of the text.

    Raises:
        ValueError, TypeError: as in `Tokenizer.encode`, but never because of a special token.

    >>> import fastbpe
    >>> tokenizer = fastbpe.Tokenizer.from_merges([(97, 98)], pattern=None)
    >>> print(fastbpe.show(tokenizer, "ab c\xe9\n"))
    ab|·|c|⟨c3⟩|⟨a9⟩|↵
    >>> print(fastbpe.show(tokenizer, "ab c", ids=True))
    ab |· |c
    256|32|99
    """
    tokens = shown_tokens(tokenizer, text, allowed_special)
    return ShownText(tokens, *sizes_of(text), Details(ids, bytes, offsets))
