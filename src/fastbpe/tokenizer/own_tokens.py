"""Tokens with a role in a model, such as bos and eos, and the template of ids around a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fastbpe.errors import SpecialTokenError
from fastbpe.model import PAIR, ROLES, TEXT, Templates

#: Names that published vocabularies give to these tokens, the likeliest first.
KNOWN: Mapping[str, tuple[str, ...]] = {
    "bos": ("<s>", "<|begin_of_text|>", "<｜begin▁of▁sentence｜>", "<bos>", "<|bos|>", "<|startoftext|>", "[BOS]"),
    "eos": ("</s>", "<|end_of_text|>", "<｜end▁of▁sentence｜>", "<eos>", "<|eos|>", "<|endoftext|>", "[EOS]"),
    "pad": ("<pad>", "<|pad|>", "<｜▁pad▁｜>", "<|finetune_right_pad_id|>", "[PAD]"),
    "unk": ("<unk>", "<|unk|>", "[UNK]"),
    "sep": ("<sep>", "<|sep|>", "[SEP]"),
    "cls": ("<cls>", "<|cls|>", "[CLS]"),
    "mask": ("<mask>", "<|mask|>", "[MASK]"),
}


def find_roles(
    named: Mapping[str, str],
    template: tuple[list[int], list[int]],
    special_tokens: Mapping[str, int],
    token_to_id: Callable[[str], int | None],
) -> Mapping[str, int | None]:
    """Find the id, or None, for each of ROLES.

    It comes from the role's named token, else from the template, else from a special token in KNOWN. If a named
    token is a special token and an ordinary one, the id of the special token counts.

    named: the token of each role that the file sets.
    template: (ids before a text, ids after it).
    """
    before, behind = template
    around = {"bos": before[:1], "eos": behind[-1:]}
    found: dict[str, int | None] = {}
    for role in ROLES:
        by_file = (special_tokens.get(named[role], token_to_id(named[role])),) if role in named else ()
        by_name = (special_tokens.get(name) for name in KNOWN[role])
        ids = (i for i in (*by_file, *around.get(role, ()), *by_name) if i is not None)
        found[role] = next(ids, None)
    return found


def check_roles(
    roles: Mapping[str, str] | None,
    is_token: Callable[[str], bool],
    way_out: str = "add it with with_special_tokens",
) -> dict[str, str]:
    """Check a caller's roles: role to token; None: no roles.

    is_token: function that tells whether a name is a special token of the tokenizer.
    way_out: how to add a special token that is missing, for the error.

    Raises SpecialTokenError for an unknown role or token, TypeError for anything but a mapping from str to str.
    """
    if roles is None:
        return {}
    if not isinstance(roles, Mapping):
        raise TypeError(
            f"roles must be a dict of roles and tokens, such as {{'eos': '</s>'}}, not {type(roles).__name__}"
        )
    for role, name in roles.items():
        if role not in ROLES:
            raise SpecialTokenError(f"roles: {role!r} is not a role; the roles are {', '.join(ROLES)}")
        if not isinstance(name, str):
            raise TypeError(f"roles: the token of {role} must be a str, not {type(name).__name__}")
        if not is_token(name):
            raise SpecialTokenError(
                f"roles: the token of {role}, {name!r}, is not a special token of this tokenizer; {way_out}"
            )
    return dict(roles)


def split_template(templates: Templates) -> tuple[list[int], list[int]]:
    """Return the ids before a single text, and the ids after it."""
    single = templates.single
    at = single.index(TEXT)
    return [*single[:at]], [*single[at + 1 :]]


def fill_template(
    templates: Templates, encode: Callable[..., list[int]], text: str | bytes, pair: str | bytes | None
) -> list[int]:
    """Put the ids of one or two texts into the template for this number of texts. encode: `Tokenizer.encode`."""
    texts = {TEXT: text, PAIR: pair}  # the template for one text has no PAIR
    ids: list[int] = []
    for item in templates.single if pair is None else templates.pair:
        if item in texts:
            ids += encode(texts[item], allowed_special="all")
        else:
            ids.append(item)
    return ids
