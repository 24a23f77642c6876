"""Tree of the merges that make a token."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, SupportsIndex

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._utils.short_reprs import html_text, short_repr
from fastbpe.errors import InvalidTokenError, VocabularyError
from fastbpe.model import METASPACE
from fastbpe.vocabularies.material import Described, Kind, Material, decoded, material_of, shown_token

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

_N_SHOWN = 4  # parts that a repr shows

#: Pair in the heap, perhaps outdated: priority, position of its left symbol, left and right symbol, merged symbol.
_Queued = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class MergeTree:
    r"""Token, with the two tokens from which it is merged.

    >>> import fastbpe
    >>> tokenizer = fastbpe.Tokenizer.from_merges([(97, 98), (256, 99)], pattern=None)
    >>> print(fastbpe.merge_tree(tokenizer, "abc"))
    'abc' 257
    ├── 'ab' 256
    │   ├── 'a' 97
    │   └── 'b' 98
    └── 'c' 99

    Attributes:
        token: bytes – the token, as it appears in a text.
        id: int or None – its id; None: a character without an id.
        parts: tuple of MergeTree – the left and the right token of its merge, the only merge that makes it in any
            text; two or more, with priority None, if merging its bytes leaves these tokens, so that only a whole
            piece becomes the token; () for a byte, a character, or a token that is found by its name.
        priority: int or None – number that orders the merges: of two possible merges, the one with the lower
            number comes first. In byte mode, the rank of the token or, in a list of merges, the position from 0.
            None: no merge makes the token.
    """

    token: bytes
    id: int | None
    parts: tuple[MergeTree, ...] = ()
    priority: int | None = None

    @property
    def is_merged(self) -> bool:
        """True if a merge makes the token, or the token needs no merge.

        >>> import fastbpe
        >>> fastbpe.merge_tree(fastbpe.Tokenizer.from_merges([], pattern=None), "a").is_merged
        True
        """
        return not self.parts or self.priority is not None

    def to_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists, as for JSON; bytes that are not a character become escapes.

        >>> import fastbpe
        >>> fastbpe.merge_tree(fastbpe.Tokenizer.from_merges([], pattern=None), "a").to_dict()
        {'id': 97, 'text': 'a', 'priority': None, 'parts': []}
        """
        root: list[dict[str, Any]] = []
        todo = [(self, root)]
        while todo:
            tree, out = todo.pop()
            parts: list[dict[str, Any]] = []
            text = tree.token.decode(errors="backslashreplace")
            out.append({"id": tree.id, "text": text, "priority": tree.priority, "parts": parts})
            todo += [(part, parts) for part in reversed(tree.parts)]
        return root[0]

    def __rich__(self) -> Tree:
        """Return the tree for rich: ids are dim, and tokens that no merge makes are red."""
        from rich.tree import Tree

        root = Tree(self._label(), guide_style="dim")
        todo = [(self, root)]
        while todo:
            tree, node = todo.pop()
            todo += [(part, node.add(part._label())) for part in tree.parts]
        return root

    def _label(self) -> Text:
        from rich.text import Text

        shown, number, said = self._said()
        return Text.assemble((shown, "bold" if self.is_merged else "bold red"), (f" {number}{said}", "dim"))

    def _said(self) -> tuple[str, str, str]:
        """Return the token, its id and a remark, for people to read."""
        said = "" if self.is_merged else " (no merge makes it: it is found as a whole piece)"
        return shown_token(self.token), "no id" if self.id is None else str(self.id), said

    def __repr__(self) -> str:
        shown, number, said = self._said()
        made_of = " + ".join(shown_token(part.token) for part in self.parts[:_N_SHOWN])
        more = f" + {len(self.parts) - _N_SHOWN:,} more" if len(self.parts) > _N_SHOWN else ""
        return f"<fastbpe.MergeTree {shown} {number}{said}{' of ' if made_of else ''}{made_of}{more}>"

    def _repr_html_(self) -> str:
        return html_text(str(self))

    def __str__(self) -> str:
        lines = []
        todo = [(self, "", "")]
        while todo:
            tree, before, below = todo.pop()
            shown, number, said = tree._said()
            lines.append(f"{before}{shown} {number}{said}")
            ways = [("├── ", "│   ")] * (len(tree.parts) - 1) + [("└── ", "    ")]
            rows = [
                (part, below + branch, below + bar) for part, (branch, bar) in zip(tree.parts, ways, strict=False)
            ]
            todo += reversed(rows)
        return "\n".join(lines)


def merge_tree(tokenizer: Described, token: bytes | str | int) -> MergeTree:
    """Show how merging makes a token: the two tokens from which it is merged, and the same for each of these.

    In every text, the same merge makes a token: the last merge when its bytes are merged by themselves.

    Args:
        tokenizer: Tokenizer.
        token: token, as for `Tokenizer.token_to_id`, or id.

    Raises:
        InvalidTokenError (a KeyError): there is no such token or id.
        VocabularyError: the tokenizer does not merge: its model_type is neither "BPE" nor "Char".
        TypeError: tokenizer is not a Tokenizer, or token is not bytes, str or int.

    >>> import fastbpe
    >>> tokenizer = fastbpe.Tokenizer.from_merges([(97, 98), (256, 99)], pattern=None)
    >>> print(fastbpe.merge_tree(tokenizer, "abc"))
    'abc' 257
    ├── 'ab' 256
    │   ├── 'a' 97
    │   └── 'b' 98
    └── 'c' 99
    """
    material = material_of(tokenizer)
    if isinstance(token, (str, bytes)):
        found = tokenizer.token_to_id(token)
        if found is None:
            raise InvalidTokenError(f"{token!r:.60} is not a token of this vocabulary; pass a token or an id")
        token_id = found
    elif isinstance(token, SupportsIndex) and not isinstance(token, bool):
        token_id = operator.index(token)
    else:
        raise TypeError(f"token must be str, bytes or an id (int), not {type(token).__name__}")
    if material.vocabulary.segmenter is not None:
        raise VocabularyError(
            f"a {tokenizer.model_type} model has no merges, so no token has a merge tree; "
            "explain() shows how a text is cut"
        )
    kind = material.kinds[token_id] if 0 <= token_id < len(material.kinds) else Kind.NONE
    if kind is Kind.NONE:
        raise InvalidTokenError(f"id {short_repr(token_id)} has no token; ids are 0 to {len(material.kinds) - 1}")
    if kind not in (Kind.TEXT, Kind.UNUSED) or token_id not in material.symbols:
        return MergeTree(material.tokens[token_id], token_id)
    left = merged(material, material.symbol_bytes[material.symbols[token_id]])
    return left[0] if len(left) == 1 else MergeTree(material.tokens[token_id], token_id, tuple(left))


def merged(material: Material, data: bytes) -> list[MergeTree]:
    """Merge bytes by themselves, and return the tokens that are left, with the merges that made them.

    data: bytes in the form used in merging.
    """
    if material.symbols_of is not None:
        parts = material.symbols_of(data)
    elif material.in_characters:
        # A piece that is not UTF-8 is never merged, and is one leaf.
        text = decoded(data)
        parts = [data] if text is None else [part.encode() for part in text]
    else:
        parts = [data[at : at + 1] for at in range(len(data))]
    find = material.vocabulary.find
    ids = material.symbol_ids
    n_ids = len(material.tokens)
    marks = METASPACE.encode() if material.marks_stand_for_spaces else b" "

    def tree(
        symbol: int | None, token: bytes, parts: tuple[MergeTree, ...] = (), priority: int | None = None
    ) -> MergeTree:
        token_id = symbol if ids is None or symbol is None else ids[symbol]
        if token_id is not None and (token_id >= n_ids or material.kinds[token_id] is Kind.UNKNOWN):
            token_id = None
        if material.symbols_of is not None and symbol is not None:
            token = material.tokens[symbol]
        return MergeTree(token.replace(marks, b" "), token_id, parts, priority)

    symbols = [find(part) for part in parts]
    leaves = [tree(symbol, part) for symbol, part in zip(symbols, parts, strict=True)]
    return _merge(material.vocabulary, symbols, leaves, tree)


def _merge(
    vocabulary: Vocabulary,
    symbols: list[int | None],
    trees: list[MergeTree],
    make: Callable[[int, bytes, tuple[MergeTree, ...], int], MergeTree],
) -> list[MergeTree]:
    """Merge the best pair, leftmost of equals, until no pair is left. The heap may contain outdated pairs."""
    n = len(symbols)
    after, before = [*range(1, n + 1)], [*range(-1, n - 1)]
    heap: list[_Queued] = []

    def queued(at: int) -> list[_Queued]:
        left, right = symbols[at], symbols[after[at]] if after[at] < n else None
        pair = None if left is None or right is None else vocabulary.pair(left, right)
        return [] if pair is None or left is None or right is None else [(pair[0], at, left, right, pair[1])]

    for at in range(n - 1):
        heap += queued(at)
    heapify(heap)
    while heap:
        priority, at, left, right, symbol = heappop(heap)
        end = after[at]
        if symbols[at] != left or end == n or symbols[end] != right:
            continue
        parts = (trees[at], trees[end])
        trees[at] = make(symbol, parts[0].token + parts[1].token, parts, priority)
        symbols[at], symbols[end] = symbol, None
        after[at] = after[end]
        if after[at] < n:
            before[after[at]] = at
        for start in (before[at], at):
            if start >= 0:
                for pair in queued(start):
                    heappush(heap, pair)
    out, at = [], 0
    while at < n:
        out.append(trees[at])
        at = after[at]
    return out
