"""Added tokens of a tokenizer, with the ids that tokenizers gives them."""

from __future__ import annotations

from collections.abc import Mapping

from fastbpe._utils.warn import warn
from fastbpe.errors import FormatError, FormatWarning
from fastbpe.tokenizers.added_token import FLAGS, AddedToken
from fastbpe.tokenizers.base_model import Model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class AddedTokens:
    """Added tokens by id.

    A token of the model's vocabulary keeps its id. Each call of `add` numbers its other new tokens from the
    model's size on, or from one past the greatest id in `ids` if that is higher.

    tokens: id → token.
    ids: content → id.
    """

    def __init__(self) -> None:
        self.tokens: dict[int, AddedToken] = {}
        self.ids: dict[str, int] = {}
        #: Contents of all tokens that were special at any time: encoding and decoding treat them as special.
        self.special: set[str] = set()
        #: Id → normalized content of a token that was added again with normalized=False: while it is not
        #: normalized, its id still decodes to this text, as in tokenizers.
        self.old_forms: dict[int, str] = {}

    def add(self, tokens: list[AddedToken], model: Model, normalizer: Any = None) -> int:
        """Add tokens, and return how many are new or changed. Ignores empty tokens."""
        n_ignored, following = 0, max(model.size(), max(self.ids.values(), default=-1) + 1)
        self.special |= {token.content for token in tokens if token.special and token.content}
        for token in tokens:
            token_id = self.ids.get(token.content)
            if not token.content or (token_id is not None and self.tokens[token_id] == token):
                n_ignored += 1
                continue
            if token_id is None:
                token_id = model.vocab.get(token.content)
            if token_id is None:
                token_id, following = following, following + 1
            old = self.tokens.get(token_id)
            if not token.normalized and normalizer is not None and old is not None and old.normalized:
                self.old_forms[token_id] = normalizer.normalize_str(old.content)
            self.ids[token.content], self.tokens[token_id] = token_id, token
        return len(tokens) - n_ignored

    def skips_by_id(self, model: Model) -> bool:
        """Tell whether decoding can skip special tokens by the ids of the added tokens.

        Decoding cannot if a special token has another id in the model than here, as after training: tokenizers
        then skips the model's id, too.
        """
        in_model = self.special & model.vocab.keys()
        return all(
            model.vocab[content] in self.tokens and self.tokens[model.vocab[content]].content == content
            for content in in_model
        )

    def listed(self) -> list[dict[str, Any]]:
        """Return the JSON of all tokens, in the order of their ids."""
        return [{"id": i, **token.state()} for i, token in sorted(self.tokens.items())]

    def for_encoding(self) -> list[dict[str, Any]]:
        """Return the JSON of all tokens; each that was special at any time is marked special."""
        listed = self.listed()
        for token in listed:
            if token["content"] in self.special:
                token["special"] = True
        return listed

    def renumbered(self, model: Model) -> AddedTokens:
        """Return these tokens with the ids that they get when they are read from a file with this model."""
        made = AddedTokens()
        made.add([self.tokens[i] for i in sorted(self.tokens)], model)
        return made

    def copied(self) -> AddedTokens:
        made = AddedTokens()
        made.tokens, made.ids = {**self.tokens}, {**self.ids}
        made.special, made.old_forms = {*self.special}, {**self.old_forms}
        return made


def read(described: Any, model: Model) -> AddedTokens:
    """Read the added tokens of a tokenizer.json. Raises FormatError if they are invalid.

    Warns with FormatWarning about a token that gets another id than in the file.
    """
    made = AddedTokens()
    if not isinstance(described, list):
        raise FormatError("added_tokens: must be a list")
    read_tokens: list[AddedToken] = []
    for n, one in enumerate(described):
        if not isinstance(one, Mapping) or type(one.get("id")) is not int:
            raise FormatError(f"added_tokens[{n}]: must be an object whose id is an integer, not {one!r:.60}")
        if not 0 <= one["id"] < 1 << 32:
            raise FormatError(f"added_tokens[{n}].id: must be 0 to 2**32 - 1, not {one['id']}")
        if not isinstance(one.get("content"), str):
            raise FormatError(f"added_tokens[{n}].content: must be a string, not {one.get('content')!r:.60}")
        unfit = next((flag for flag in FLAGS if type(one.get(flag)) is not bool), None)
        if unfit is not None:
            raise FormatError(f"added_tokens[{n}].{unfit}: must be true or false, not {one.get(unfit)!r:.60}")
        read_tokens.append(AddedToken(one["content"], **{flag: one[flag] for flag in FLAGS}))
    made.add(read_tokens, model)
    for n, one in enumerate(described):
        if one["content"] and made.ids[one["content"]] != one["id"]:
            warn(
                f"added_tokens[{n}]: {one['content']!r:.60} has the id {one['id']} in the file; it gets "
                f"{made.ids[one['content']]}, as in tokenizers: ids of tokens outside model.vocab have no gaps",
                FormatWarning,
            )
    return made
