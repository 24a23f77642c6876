"""Offsets of tokens in a text, and the longest part of a text with a given number of tokens."""

from collections.abc import Callable, Iterable, Sequence


def offsets(text: str, tokens: Iterable[bytes], sources: Iterable[int] | None = None) -> list[tuple[int, int]]:
    """Return (start, end) in characters of each token.

    A character belongs to every token that has a byte of it. A surrogate pair is one character that counts as two.

    Args:
        text: the text.
        tokens: bytes, which end to end are the UTF-8 of the text or of its normalized form.
        sources: origin in the text of each character of the normalized form; None: the tokens are the text's own.

    >>> offsets("aé", [b"a\\xc3", b"\\xa9"])
    [(0, 2), (1, 2)]
    >>> offsets("Aﬁ", [b"a", b"fi"], [0, 1, 1])
    [(0, 1), (1, 2)]
    """
    tokens = list(tokens)
    if sources is not None:
        changed = b"".join(tokens).decode()
        places = zip(changed, sources, strict=True)
        return _spans([(at, at + 1) for character, at in places for _ in character.encode()], tokens)
    homes: list[tuple[int, int]] = []  # of each byte: start and end of its character
    for at, character in enumerate(text):
        if "\udc00" <= character <= "\udfff" and "\ud800" <= text[at - 1 : at] <= "\udbff":
            homes[-3:] = [(at - 1, at + 1)] * 4
        else:
            size = 3 if "\ud800" <= character <= "\udfff" else len(character.encode())
            homes += [(at, at + 1)] * size
    return _spans(homes, tokens)


def _spans(homes: Sequence[tuple[int, int]], tokens: Iterable[bytes]) -> list[tuple[int, int]]:
    out, end = [], 0
    for token in tokens:
        start, end = end, end + len(token)
        out.append((homes[start][0], homes[end - 1][1]))
    return out


def longest_prefix(text: str, count: Callable[[str], int], n: int) -> str:
    """Return the longest prefix of a text whose count is at most n.

    >>> longest_prefix("abc", len, 2)
    'ab'
    """
    return next(text[:end] for end in range(len(text), -1, -1) if count(text[:end]) <= n)


def longest_suffix(text: str, count: Callable[[str], int], n: int) -> str:
    """Return the longest suffix of a text whose count is at most n.

    >>> longest_suffix("abc", len, 2)
    'bc'
    """
    return next(text[start:] for start in range(len(text) + 1) if count(text[start:]) <= n)


def trimmed(
    spans: Sequence[tuple[int, int]], blanks: Sequence[tuple[int, int]], prefixed: Sequence[bool]
) -> list[tuple[int, int]]:
    """Trim white space off spans, once for each of `prefixed`.

    Args:
        spans: (start, end) of each token.
        blanks: white space at the beginning and at the end of each token.
        prefixed: True if a space was put before the text: a token at its beginning then keeps a single space.

    >>> trimmed([(0, 3), (3, 5)], [(0, 1), (1, 0)], [False])
    [(0, 2), (4, 5)]
    """
    out = []
    for i, ((start, end), (before, behind)) in enumerate(zip(spans, blanks, strict=True)):
        for keeps in prefixed:
            if before and not (keeps and before == 1 and (i == 0 or start == 0)):
                start = min(start + before, end)
            if behind and end >= behind:  # not of white space that a normalizer put: (0, 1) of "b", made "a  "
                end = max(end - behind, start)
        out.append((start, end))
    return out


def in_unit(text: str, spans: Iterable[tuple[int, int]], unit: str) -> list[tuple[int, int]]:
    """Convert spans in characters to spans in bytes of UTF-8 ("byte") or in UTF-16 units ("utf16").

    >>> in_unit("é👍a", [(0, 1), (1, 2), (2, 3)], "byte")
    [(0, 2), (2, 6), (6, 7)]
    >>> in_unit("é👍a", [(0, 1), (1, 2), (2, 3)], "utf16")
    [(0, 1), (1, 3), (3, 4)]
    """

    def size(part: str) -> int:
        if unit == "utf16":
            return len(part.encode("utf-16-le", "surrogatepass")) // 2
        joined = part.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return len(joined.encode())

    return [(size(text[:start]), size(text[:end])) for start, end in spans]
