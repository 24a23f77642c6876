"""Added tokens of the classes that transformers runs in Python.

These classes find added tokens in the original text, and take the ids of an added_tokens_decoder literally.
"""

from __future__ import annotations

from fastbpe.model import AddedToken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import NoReturn

    from fastbpe.formats.huggingface.named_tokens import NamedTokens

_FLAGS = ("lstrip", "rstrip", "single_word")


def added_tokens(
    named: NamedTokens, vocab: Mapping[str, int], fail: Callable[[str], NoReturn], *, may_strip: bool = False
) -> list[AddedToken]:
    """Return the added tokens by id. A token is special if it has a role, or is an extra special token.

    Args:
        named: tokens that the files of the folder name.
        vocab: token → id.
        fail: function that raises an error: two tokens would have one id, or a token has a flag.
        may_strip: tokens with ids in the files may have the flags lstrip and rstrip.
    """
    special = dict.fromkeys(token.content for token in (*named.named.values(), *named.extra))
    special.pop("", None)
    ids = {token.content: i for i, token in sorted(named.decoder.items())}
    known = {token.content: token for token in named.decoder.values()}
    for token in named.decoder.values():
        for flag in _FLAGS:
            if getattr(token, flag) and not (may_strip and flag != "single_word"):
                fail(f"the token {token.content!r:.60} has the flag {flag}, which is not supported here")
    new = len({*vocab} | {*ids})
    for content in special:
        if content not in ids:
            ids[content] = vocab.get(content, new)
            new += content not in vocab
    for content in ids:
        if any("\ud800" <= character <= "\udfff" for character in content):
            fail(f"the token {content!r:.60} contains a surrogate, which UTF-8 cannot encode")
    own = {i: content for content, i in vocab.items()}
    for content, i in ids.items():
        if own.get(i, content) != content or vocab.get(content, i) != i:
            fail(f"the token {content!r:.60} would share the id {i} with another token")
        own[i] = content
    found = [
        AddedToken(content, i, content in special, False, *known[content][3:5] if content in known else ())
        for content, i in ids.items()
    ]
    return sorted(found, key=lambda token: token.id)
