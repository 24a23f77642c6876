"""Tokens and roles named in the other files of a tokenizer's folder, read as in transformers 5.24.

The files are tokenizer_config.json, special_tokens_map.json and added_tokens.json. transformers adds their tokens
to the tokenizer: one that already exists gets the flags of the new definition, any other gets the next free id.
Ids in the files determine only the order. A tokenizer_config.json with an added_tokens_decoder makes transformers
ignore the two older files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from fastbpe._utils.arguments import decimal
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.errors import FormatError
from fastbpe.formats.huggingface.class_settings import Settings
from fastbpe.formats.json_object import read_object
from fastbpe.model import NEXT, ROLES, AddedToken

CONFIG, MAP, ADDED = "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"
_NAMED = tuple(f"{role}_token" for role in ROLES)
_EXTRA, _ADDITIONAL, _DECODER = "extra_special_tokens", "additional_special_tokens", "added_tokens_decoder"
_FLAGS = AddedToken._fields[2:]
_MAX_ID = (1 << 31) - 1  # far above any vocabulary; `decimal` is exact below 10**20


class Definition(NamedTuple):
    """Definition of a token in a file.

    Attributes:
        content, special, lstrip, rstrip, single_word: as in AddedToken.
        normalized: as in AddedToken; None: True unless the token becomes special.
        is_text: the file has only the text of the token, without flags.
    """

    content: str
    special: bool = True
    normalized: bool | None = None
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    is_text: bool = False

    def token(self, special: bool = False) -> AddedToken:
        """Create the token, without an id; special: a role makes it special."""
        special = special or self.special
        normalized = not special if self.normalized is None else self.normalized
        return AddedToken(self.content, NEXT, special, normalized, self.lstrip, self.rstrip, self.single_word)


_NONE: Mapping[Any, Any] = {}  # nobody changes it: fields are Mappings


class NamedTokens(NamedTuple):
    """Tokens and roles named in the other files of a tokenizer's folder.

    Attributes:
        decoder: id in the files → token of added_tokens_decoder or added_tokens.json.
        named: attribute of transformers, such as bos_token or image_token → token.
        extra: other special tokens.
        silenced: roles that have no token according to a file.
        defaults: attributes of roles, such as bos_token, that no file sets.
        has_extra: the files have extra_special_tokens, or tokenizer_config.json has additional_special_tokens, so
            the defaults of a class or of a sentencepiece model do not apply.
        is_older: the files have no added_tokens_decoder, so the tokenizer's own added tokens are used too.
        settings: settings of the class that the folder names; None: no class is named, or it has no settings.
    """

    decoder: Mapping[int, Definition] = _NONE
    named: Mapping[str, Definition] = _NONE
    extra: Sequence[Definition] = ()
    silenced: Collection[str] = ()
    defaults: Collection[str] = ()
    has_extra: bool = False
    is_older: bool = True
    settings: Settings | None = None

    @property
    def roles(self) -> dict[str, str]:
        """The token of each role."""
        return {name.removesuffix("_token"): token.content for name, token in self.named.items() if name in _NAMED}

    def with_padding(self, described: object) -> NamedTokens:
        """Add the token of a tokenizer.json's padding, which transformers takes if no file names a pad token.

        described: "padding" in the tokenizer.json, checked.
        """
        content = described.get("pad_token") if isinstance(described, dict) else None
        class_decides = self.settings is not None and "pad" in self.settings.roles
        if not content or class_decides or "pad_token" in self.named or "pad" in self.silenced:
            return self
        return self._replace(named=in_order({**self.named, "pad_token": Definition(content, is_text=True)}))

    def names(self) -> list[str]:
        """List the texts of all tokens that the files name."""
        listed = (*self.decoder.values(), *self.named.values(), *self.extra)
        return [token.content for token in listed if token.content]

    def add(self, own: Sequence[AddedToken], find: Callable[[str], int | None], n_tokens: int) -> list[AddedToken]:
        """Return the added tokens of a tokenizer, with those that these files name, by id.

        Args:
            own: the added tokens of the tokenizer itself.
            find: function from the text of an ordinary token to its id, or None if there is no such token.
            n_tokens: number of ordinary tokens.
        """
        is_rebuilt = self.settings is not None  # transformers builds the tokenizer anew, from ordinary tokens only
        if is_rebuilt and not self.is_older:
            own = ()
        found = {} if is_rebuilt else {token.content: token for token in own}
        following = max([n_tokens - 1, *(token.id for token in found.values())]) + 1
        for token in self._to_add(own):
            known = found.get(token.content)
            token_id = find(token.content) if known is None else known.id
            if token_id is None:
                token_id = following
            following = max(following, token_id + 1)
            # tokenizers leaves a token out of decoded text if it was ever special, whatever its new flags say.
            special = token.special or (known is not None and known.special)
            found[token.content] = token._replace(id=token_id, special=special)
        return sorted(found.values(), key=attrgetter("id"))

    def _to_add(self, own: Sequence[AddedToken]) -> Iterator[AddedToken]:
        """Yield tokens in the order of transformers: first tokens with ids in the files, then all others.

        A token may come again with other flags; the last ones apply. own: as in `add`.
        """
        special = {token.content for token in self.named.values()}
        defined = dict(self.decoder)
        if self.is_older:
            defined |= {token.id: Definition(token.content, *token[2:]) for token in own}
        taken = {token.content for token in own}  # transformers adds no token of `others` that the tokenizer has
        for _, token in sorted(defined.items()):
            taken.add(token.content)
            yield token.token(token.content in special)
        others = [*self.named.values(), *self.extra]
        seen = set()
        for token in others:
            definition = (token.is_text, token.token())  # in transformers, a text does not equal an object
            if token.content and token.content not in taken and definition not in seen:
                seen.add(definition)
                yield token.token(token.content in special)
        if self.settings is not None and self.settings.makes_special:
            yield from self._again(defined)
        if self.settings is not None and self.settings.resets_flags:
            for content in dict.fromkeys(token.content for token in others if token.content):
                yield AddedToken(content, special=True)

    def _again(self, defined: Mapping[int, Definition]) -> Iterator[AddedToken]:
        """Yield the tokens of `named` and `extra` as some classes add them a second time: all as special tokens.

        A token has the flags of the entry that names it; an entry that is only text gives default flags. If a file
        sets the role of a token, the token has the flags of its entry in `defined`, if there is one.
        """
        known = {token.content: token for _, token in sorted(defined.items())}
        for name, token in self.named.items():
            if name in _NAMED and name not in self.defaults:
                token = known.get(token.content, token)
            yield token.token(special=True)
        yield from (token.token(special=True) for token in self.extra if token.content)


def in_order(named: Mapping[str, Definition]) -> dict[str, Definition]:
    """Return named tokens in transformers' order: roles first."""
    roles = {name: named[name] for name in _NAMED if name in named}
    return {**roles, **named}


def read(folder: str, settings: Settings | None, *, beside_pieces: bool = False) -> NamedTokens:
    """Read the other files of a tokenizer's folder.

    beside_pieces: the tokenizer is a sentencepiece model; its control symbols replace additional_special_tokens of
        a special_tokens_map.json.

    Raises:
        FormatError: the files are invalid, so transformers could not load them either; the message says why.
    """
    config_path, map_path = os.path.join(folder, CONFIG), os.path.join(folder, MAP)
    config = read_object(config_path)
    decoder: dict[int, Definition] = {}
    values = _Values(config, config_path)
    if _DECODER in config:
        _read_decoder(config[_DECODER], config_path, decoder)
    else:
        values.merge(_read_map(map_path), map_path)
        _read_added(os.path.join(folder, ADDED), values.known_special(), decoder)
    if beside_pieces:
        values.values.pop(_ADDITIONAL, None)
    if settings is not None and settings.joins_extra:
        values.join_extra()
    if settings is not None and settings.ignores_null and values.values.get(_EXTRA, ()) is None:
        del values.values[_EXTRA]
    has_extra = _EXTRA in values.values
    silenced = [role for role in ROLES if values.values.get(f"{role}_token", "") is None]
    defaults = [name for name in _NAMED if name not in values.values]
    named, extra = values.tokens({} if settings is None else settings.roles)
    if settings is not None:
        named, extra = _with_class(named, extra, settings)
    return NamedTokens(decoder, named, extra, silenced, defaults, has_extra, _DECODER not in config, settings)


def _with_class(
    named: Mapping[str, Definition], extra: list[Definition], settings: Settings
) -> tuple[dict[str, Definition], list[Definition]]:
    """Add the tokens of a class to `named` and `extra`, in transformers' order."""
    roles = {name: token for name, token in named.items() if name in _NAMED}
    mask = roles.get("mask_token")
    if mask is not None and mask.is_text and settings.mask:
        roles["mask_token"] = Definition(mask.content, **{"special": False, **settings.mask})
    specific = {name: Definition(content, is_text=True) for name, content in settings.specific.items()}
    known = {token.content for token in extra}
    names = [settings.specific[name] for name in settings.extra]
    own = [Definition(name, special=False) for name in names if name not in known]
    # The roles come first, and replace `named`'s, whose mask lacks the flags of the class.
    return {**roles, **specific, **named, **roles}, [*extra, *own]


def _read_decoder(value: object, where: str, found: dict[int, Definition]) -> None:
    if not isinstance(value, dict):
        raise FormatError(f"{where}: {_DECODER}: expected an object of ids and tokens, found {value!r:.80}")
    for number, entry in value.items():
        if (
            not (number.isascii() and number.isdecimal())
            or decimal(number) > _MAX_ID
            or not isinstance(entry, dict)
        ):
            raise FormatError(
                f"{where}: {_DECODER}: expected an id from 0 to {_MAX_ID} and an object with content and flags, "
                f"found {number!r:.40}: {entry!r:.80}"
            )
        found[decimal(number)] = token_of(entry, where, f"{_DECODER}.{number:.40}")


def _read_map(path: str) -> dict[str, Any]:
    """Read a special_tokens_map.json; its objects become Definitions of special tokens."""
    found: dict[str, Any] = {}
    for key, value in read_object(path).items():
        if isinstance(value, dict) and key != _EXTRA:
            value = token_of({**value, "special": True}, path, key)
        elif isinstance(value, list) and key == _EXTRA:
            clash = next((item for item in value if isinstance(item, dict) and "special" in item), None)
            if clash is not None:
                raise FormatError(
                    f"{path}: {key}: a token here must not have the key 'special', which transformers refuses: "
                    f"{clash!r:.80}"
                )
            value = [
                token_of({**item, "special": True}, path, key) if isinstance(item, dict) else item
                for item in value
            ]
        found[key] = value
    return found


def _read_added(path: str, special: set[str], found: dict[int, Definition]) -> None:
    for content, number in read_object(path).items():
        if type(number) is not int or not 0 <= number <= _MAX_ID:
            raise FormatError(
                f"{path}: {content!r} has the id {number!r:.40}, which is not an integer from 0 to {_MAX_ID}"
            )
        found[number] = Definition(content, special=content in special, normalized=content not in special)


class _Values:
    """Values of tokenizer_config.json, overridden by special_tokens_map.json, each with its file."""

    def __init__(self, config: Mapping[str, Any], where: str) -> None:
        self.values = dict(config)
        self.where = where
        self.places = dict.fromkeys(config, where)
        self.extra_key = _EXTRA  # key of the file whose values are in values[_EXTRA]
        if _ADDITIONAL in self.values and not self.values.get(_EXTRA):  # even null, as mT5 has it
            self.values[_EXTRA] = self.values.pop(_ADDITIONAL)
            self.places[_EXTRA] = where
            self.extra_key = _ADDITIONAL
        # Name of an attribute that only this model has → token. In a special_tokens_map.json, only an object of
        # extra_special_tokens overrides these tokens.
        self.specific: dict[str, Any] = {
            key: self.values.pop(key)
            for key in [*self.values]
            if key.endswith("_token") and key not in _NAMED and isinstance(self.values[key], str)
        }
        self._take_specific()

    def merge(self, older: Mapping[str, Any], where: str) -> None:
        """Override values by those in a special_tokens_map.json; a list of extra_special_tokens is appended."""
        for key, value in older.items():
            if key == _EXTRA and isinstance(value, list):
                before = self.values.get(_EXTRA) or []
                before = before if isinstance(before, list) else [before]
                texts = {token for token in before if isinstance(token, str)}  # objects never equal `_read_map`'s
                value = [*before, *(token for token in value if not (isinstance(token, str) and token in texts))]
            if key == _EXTRA:
                self.extra_key = _EXTRA
            self.values[key] = value
            self.places[key] = where
        self._take_specific()

    def _take_specific(self) -> None:
        """Take the tokens of extra_special_tokens if it is an object: name of an attribute → token."""
        if isinstance(self.values.get(_EXTRA), dict):
            taken = self.values.pop(_EXTRA)
            self.specific |= taken
            self.places |= dict.fromkeys(taken, self.places[_EXTRA])

    def join_extra(self) -> None:
        """Append additional_special_tokens to extra_special_tokens, as classes with `Settings.joins_extra` do.

        Tokens that are objects need no "__type" here.
        """
        lists = [self.values[key] for key in (_EXTRA, _ADDITIONAL) if isinstance(self.values.get(key), list)]
        if lists:
            self.values[_EXTRA] = [
                {"__type": "AddedToken", **item} if isinstance(item, dict) else item
                for each in lists
                for item in each
            ]

    def known_special(self) -> set[str]:
        """Return the texts that are special tokens if they occur in added_tokens.json."""
        extra = self.values.get(_EXTRA)
        values = [self.values.get(name) for name in _NAMED] + (extra if isinstance(extra, list) else [])
        texts = (value.content if isinstance(value, Definition) else value for value in values)
        return {text for text in texts if isinstance(text, str)}

    def tokens(self, defaults: Mapping[str, str]) -> tuple[dict[str, Definition], list[Definition]]:
        """Return (name → token, in transformers' order; special tokens without a name).

        defaults: role → token, for roles that no file sets.

        Raises:
            FormatError: transformers would not accept a value as a token.
        """
        values, places, key = self.values, self.places, self.extra_key
        if _ADDITIONAL in values and _EXTRA not in values:
            values[_EXTRA] = values.pop(_ADDITIONAL)
            places[_EXTRA] = places[_ADDITIONAL]
            key = _ADDITIONAL
        named: dict[str, Definition] = {}
        for name in _NAMED:
            value = values[name] if name in values else defaults.get(name.removesuffix("_token"))
            if value is not None:
                named[name] = _special(value, places.get(name, self.where), name)
        for name, value in values.items():
            if name.endswith("_token") and name not in _NAMED and _is_token(value):
                named[name] = _special(value, places[name], name)
        for name, value in self.specific.items():
            named[name] = _special(value, places.get(name, self.where), name)
        others = values.get(_EXTRA)
        place = places.get(_EXTRA, self.where)
        if isinstance(others, Definition):
            raise FormatError(
                f"{place}: {key}: transformers accepts only a list of tokens in this file, not an object"
            )
        if others is not None and not isinstance(others, list):
            raise FormatError(
                f"{place}: {key}: transformers accepts only a list of tokens, or an object of names and tokens, "
                f"not {others!r:.80}"
            )
        extra = [_special(value, place, f"{key}[{number}]") for number, value in enumerate(others or ())]
        return {name: token for name, token in named.items() if token.content}, extra


def _is_token(value: object) -> bool:
    return isinstance(value, (str, Definition)) or (
        isinstance(value, dict) and value.get("__type") == "AddedToken"
    )


def _special(value: object, where: str, key: str) -> Definition:
    """Read a special token: its text, or an object marked as an AddedToken."""
    if isinstance(value, Definition):
        return value
    if isinstance(value, str):
        return Definition(value, is_text=True)
    if isinstance(value, dict) and value.get("__type") == "AddedToken":
        return token_of(value, where, key)
    raise FormatError(
        f'{where}: {key}: transformers accepts a text, or an object with "__type": "AddedToken", not {value!r:.80}'
    )


def token_of(entry: Mapping[str, Any], where: str, key: str) -> Definition:
    """Read an object with content and flags; missing flags have the defaults of tokenizers."""
    content = entry.get("content", "")
    flags = {flag: entry[flag] for flag in _FLAGS if entry.get(flag) is not None}
    if not isinstance(content, str) or not {bool}.issuperset(map(type, flags.values())):
        raise FormatError(
            f"{where}: {key}: expected a token with a text and flags (true or false), found {entry!r:.120}"
        )
    return Definition(content, **{"special": False, **flags})
