"""Post-processors, as in the module `processors` of tokenizers: they put ids around texts, or trim offsets."""

from __future__ import annotations

from collections.abc import Mapping

from fastbpe._utils import late_json as json
from fastbpe._utils.arguments import decimal, is_text
from fastbpe.errors import VocabularyError
from fastbpe.formats.huggingface.templates import canonical
from fastbpe.huggingface.checked_arguments import MAX_ID, of_type, sequence, token_id
from fastbpe.huggingface.encoding import Encoding, of_tokens
from fastbpe.tokenizers.components import Component, Indexed, by_kind, changed, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

__all__ = ["BertProcessing", "ByteLevel", "PostProcessor", "RobertaProcessing", "Sequence", "TemplateProcessing"]

#: Character that represents the byte 0x20 in GPT-2's files. As in tokenizers, no other byte's is trimmed.
_SPACE = "\u0120"


class PostProcessor(Component):
    """Base of all post-processors."""

    @classmethod
    def from_state(cls, described: Mapping[str, Any]) -> Any:
        return super().from_state(canonical(described))

    def process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """Return the encoding of a text, or of two, with the ids that the post-processor adds.

        Args:
            encoding: the encoding of a text.
            pair: the encoding of the second text.
            add_special_tokens: add the ids; False: only trim offsets and join the two.
        """
        texts = [of_type(one, Encoding).copied() for one in (encoding, *([] if pair is None else [pair]))]
        return process(self, texts, of_type(add_special_tokens, bool))

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Return the number of ids that are added to a text, or to two."""
        of_type(is_pair, bool)
        return self.n_added(is_pair)

    def n_added(self, is_pair: bool) -> int:
        """Return the number of ids that are added to a text, or to two."""
        return 0

    def around(self, encodings: list[Encoding], adds_special: bool) -> list[Encoding]:
        """Apply this step to encodings, which it may change in place, and return the results."""
        return encodings


def process(post: PostProcessor | None, encodings: list[Encoding], adds_special: bool) -> Encoding:
    """Apply a post-processor to one or two encodings, which it may change in place, and return one."""
    if post is None:
        if len(encodings) == 1:
            return encodings[0]
        for i, encoding in enumerate(encodings):
            encoding.set_sequence_id(i)
        return Encoding.merge(encodings, growing_offsets=False)
    for i, encoding in enumerate(encodings):
        encoding.set_sequence_id(i)
        for part in encoding.parts:
            part.set_sequence_id(i)
        encoding.set_type_ids(i)
    return Encoding.merge(post.around(encodings, adds_special), growing_offsets=False)


def _trim(encoding: Encoding, prefixed: bool) -> None:
    """Exclude white space at the ends of tokens from the offsets.

    prefixed: do not exclude a single space at the start of a text: it may have been added.
    """
    from fastbpe.splitting.charset import blanks  # here: few programs need it

    blank = _SPACE + blanks()
    offsets = encoding.columns["offsets"]
    for i, token in enumerate(encoding.columns["tokens"]):
        start, end = offsets[i]
        n_before = len(token) - len(token.lstrip(blank))
        n_behind = len(token) - len(token.rstrip(blank))
        if not (n_before == 1 and prefixed and (i == 0 or start == 0)):
            start = min(start + n_before, end)
        if end >= n_behind:  # else a normalizer has made the white space: tokenizers then trims nothing
            end = max(end - n_behind, start)
        offsets[i] = start, end
    for part in encoding.parts:
        _trim(part, prefixed)


def _added(ids: list[int], tokens: list[str], type_id: int) -> Encoding:
    n = len(ids)
    return of_tokens([*ids], [*tokens], [None] * n, [(0, 0)] * n, type_id, special=1)


class ByteLevel(PostProcessor):
    """Excludes white space at the ends of tokens from their offsets.

    Args:
        add_prefix_space: a space was put before texts, so do not exclude a single space at the start of a text;
            None: True.
        trim_offsets: exclude it; None: True.
        use_regex: has no effect here; None: True.
        ignored: other arguments have no effect.
    """

    kind = "ByteLevel"
    fields: ClassVar[Mapping[str, type]] = {"add_prefix_space": bool, "trim_offsets": bool, "use_regex": bool}
    defaults: ClassVar[Mapping[str, Any]] = {"use_regex": True}

    def __init__(
        self,
        add_prefix_space: bool | None = None,
        trim_offsets: bool | None = None,
        use_regex: bool | None = None,
        **ignored: Any,
    ) -> None:
        values = {"add_prefix_space": add_prefix_space, "trim_offsets": trim_offsets, "use_regex": use_regex}
        self._set(**{key: True if value is None else value for key, value in values.items()})

    add_prefix_space = field("add_prefix_space", "Do not exclude a single space at the start of a text.")
    trim_offsets = field("trim_offsets", "Exclude white space at the ends of tokens from their offsets.")
    use_regex = field("use_regex", "Has no effect here.")

    def around(self, encodings: list[Encoding], adds_special: bool) -> list[Encoding]:
        for i, encoding in enumerate(encodings):
            if self.trim_offsets:
                _trim(encoding, self.add_prefix_space)
            encoding.set_sequence_id(i)
        return encodings


def _token(value: Any) -> list[Any]:
    token, its_id = _two(value)
    return [of_type(token, str), token_id(its_id)]


def _two(value: Any) -> tuple[Any, Any]:
    """Return a token and its id. Raises TypeError or ValueError for another object."""
    if not isinstance(value, tuple) or len(value) != 2:
        kind = ValueError if isinstance(value, tuple) else TypeError  # as in tokenizers
        raise kind(f"{value!r:.60} must be a tuple of a token and its id")
    return value[0], value[1]


def _token_field(name: str, doc: str) -> Any:
    """Return a property for a token and its id; its value is a tuple."""
    as_in_json = field(name, doc, _token)
    return property(lambda self: tuple(as_in_json.fget(self)), as_in_json.fset, None, doc)


class _Pair(PostProcessor):
    """Base of BERT's and RoBERTa's post-processors: `cls` before the first text, and `sep` after each text."""

    def n_added(self, is_pair: bool) -> int:
        return self._n_between() + 3 if is_pair else 2

    def _n_between(self) -> int:
        """Return the number of ids between the `sep` of the first text and the second text."""
        return 0

    sep = _token_field("sep", "Token and id after each text.")
    cls = _token_field("cls", "Token and id before the first text.")

    def around(self, encodings: list[Encoding], adds_special: bool) -> list[Encoding]:
        if not adds_special:
            return encodings
        made = []
        for i, encoding in enumerate(encodings):
            parts = [self._framed(part, i) for part in encoding.parts]
            framed = self._framed(encoding, i)
            framed.parts.extend(parts)
            made.append(framed)
        return made

    def _framed(self, encoding: Encoding, i: int) -> Encoding:
        """Return encoding i of a call, or a part that truncation cut off from it, with the tokens around it.

        i may exceed 1: in a Sequence, a TemplateProcessing before this step makes an encoding for each item.
        """
        raise NotImplementedError

    @staticmethod
    def _as_text(encoding: Encoding, i: int) -> None:
        """Assign all tokens to the first text (i = 0) or to the second, as tokenizers does.

        Drops the parts that truncation has cut off, and marks no token as special or as padding.
        """
        encoding.ranges.clear()
        encoding.parts.clear()
        encoding.set_sequence_id(min(i, 1))
        encoding.columns["special_tokens_mask"][:] = [0] * len(encoding)
        encoding.columns["attention_mask"][:] = [1] * len(encoding)


class BertProcessing(_Pair):
    """[CLS] text [SEP], or [CLS] text [SEP] text [SEP].

    Args:
        sep: token and id after each text.
        cls_token: token and id before the first text.
    """

    kind = "BertProcessing"
    fields: ClassVar[Mapping[str, type]] = {"sep": list, "cls": list}

    def __init__(self, sep: tuple[str, int], cls_token: tuple[str, int]) -> None:
        self._set(sep=_token(sep), cls=_token(cls_token))

    def _framed(self, encoding: Encoding, i: int) -> Encoding:
        (sep, sep_id), (cls, cls_id) = self.sep, self.cls
        self._as_text(encoding, i)
        behind = _added([sep_id], [sep], min(i, 1))
        parts = [encoding, behind] if i else [_added([cls_id], [cls], 0), encoding, behind]
        return Encoding.merge(parts, growing_offsets=False)


class RobertaProcessing(_Pair):
    """<s> text </s>, or <s> text </s></s> text </s>.

    Args:
        sep: token and id after each text.
        cls_token: token and id before the first text.
        trim_offsets: exclude white space at the ends of tokens from their offsets.
        add_prefix_space: a space was put before texts, so do not exclude a single space at the start of a text.
    """

    kind = "RobertaProcessing"
    fields: ClassVar[Mapping[str, type]] = {
        "sep": list,
        "cls": list,
        "trim_offsets": bool,
        "add_prefix_space": bool,
    }

    def __init__(
        self,
        sep: tuple[str, int],
        cls_token: tuple[str, int],
        trim_offsets: bool = True,
        add_prefix_space: bool = True,
    ) -> None:
        self._set(
            sep=_token(sep), cls=_token(cls_token), trim_offsets=trim_offsets, add_prefix_space=add_prefix_space
        )

    trim_offsets = field("trim_offsets", "Exclude white space at the ends of tokens from their offsets.")
    add_prefix_space = field("add_prefix_space", "Do not exclude a single space at the start of a text.")

    def _n_between(self) -> int:
        return 1

    def around(self, encodings: list[Encoding], adds_special: bool) -> list[Encoding]:
        for encoding in encodings:
            if self.trim_offsets:
                _trim(encoding, self.add_prefix_space)
            encoding.set_type_ids(0)
        return super().around(encodings, adds_special)

    def _framed(self, encoding: Encoding, i: int) -> Encoding:
        (sep, sep_id), (cls, cls_id) = self.sep, self.cls
        self._as_text(encoding, i)
        encoding.set_type_ids(0)
        before = _added([sep_id], [sep], 0) if i else _added([cls_id], [cls], 0)
        return Encoding.merge([before, encoding, _added([sep_id], [sep], 0)], growing_offsets=False)


class TemplateProcessing(PostProcessor):
    """Template for the tokens around a text, or around two.

    Args:
        single: template for one text: a list of items, or a str of items separated by spaces; None: the text
            alone. "$A" is the text, "$A:1" or "$1" the text with type id 1, and an item without "$" a token, which
            may also have a type id, as in "[SEP]:1".
        pair: template for two texts, with "$B" for the second; None: the texts alone, with type ids 0 and 1.
        special_tokens: list of (token, id), of (id, token) or of dicts: "id" is the name in the templates, "ids"
            and "tokens" are lists of the ids and tokens that the name stands for.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: a template cannot be parsed, pair lacks a text, or special_tokens lacks a token of a template.
    """

    kind = "TemplateProcessing"
    fields: ClassVar[Mapping[str, type]] = {"single": list, "pair": list, "special_tokens": dict}

    def __init__(self, single: Any = None, pair: Any = None, special_tokens: Any = None) -> None:
        tokens = sorted(
            map(_special, sequence(() if special_tokens is None else special_tokens)),
            key=lambda token: str(token["id"]),
        )
        special = {token["id"]: token for token in tokens}
        templates = {
            "single": _pieces("$0" if single is None else single),
            "pair": _pieces("$A:0 $B:1" if pair is None else pair),
        }
        self._set(**templates, special_tokens=special)
        if {item["Sequence"]["id"] for item in templates["pair"] if "Sequence" in item} != {"A", "B"}:
            raise ValueError("Template for `pair` must use both sequences")
        used = [
            item["SpecialToken"]["id"] for items in templates.values() for item in items if "Sequence" not in item
        ]
        missing = sorted({*used} - special.keys())
        if missing:
            raise ValueError(f"Missing SpecialToken(s) with id(s) `{', '.join(missing):.60}`")

    @property
    def single(self) -> str:
        """Template for one text, in the form that tokenizers shows."""
        shown = []
        for item in self._state["single"]:
            [(kind, inner)] = item.items()
            name = inner["id"] if kind == "Sequence" else json.dumps(inner["id"], ensure_ascii=False)
            shown.append(f"{kind} {{ id: {name}, type_id: {inner['type_id']} }}")
        return f"Template([{', '.join(shown)}])"

    @single.setter
    def single(self, value: Any) -> None:
        self._state = {**self._state, "single": _pieces(value)}
        changed()

    def n_added(self, is_pair: bool) -> int:
        items = self._state["pair" if is_pair else "single"]
        names = (item["SpecialToken"]["id"] for item in items if "SpecialToken" in item)
        known = self._state["special_tokens"]
        return sum(len(known[name]["ids"]) for name in names if name in known)

    def _special(self, item: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the special token of an item. Raises VocabularyError if special_tokens lacks it."""
        name = item["SpecialToken"]["id"]
        found: Mapping[str, Any] | None = self._state["special_tokens"].get(name)
        if found is None:
            raise VocabularyError(f"the template's special_tokens do not contain its token {name!r:.60}")
        return found

    def around(self, encodings: list[Encoding], adds_special: bool) -> list[Encoding]:
        """Return an encoding for each item of the template; only for the texts if adds_special is False.

        Raises VocabularyError if special_tokens lacks a token to add, or the template for one text contains $B.
        """
        made = []
        for item in self._state["single" if len(encodings) == 1 else "pair"]:
            if "Sequence" in item:
                i = int(item["Sequence"]["id"] == "B")
                if i >= len(encodings):
                    raise VocabularyError("the template for one text contains $B, which is the second text")
                encodings[i].set_type_ids(item["Sequence"]["type_id"])
                encodings[i].set_sequence_id(i)
                made.append(encodings[i].copied())  # a template may have a text twice
            elif adds_special:
                token = self._special(item)
                made.append(_added(token["ids"], token["tokens"], item["SpecialToken"]["type_id"]))
        return made


def _special(token: Any) -> dict[str, Any]:
    """Return the JSON of a special token. Raises TypeError or ValueError if it is invalid."""
    if isinstance(token, Mapping):
        missing = [key for key in ("id", "ids", "tokens") if key not in token]
        if missing:
            raise ValueError(f"a special token must have the key {missing[0]!r}")
        ids = [*map(token_id, sequence(token["ids"]))]
        tokens = [of_type(one, str) for one in sequence(token["tokens"])]
        if len(ids) != len(tokens):
            raise ValueError("SpecialToken: ids and tokens must be of the same length")
        return {"id": of_type(token["id"], str), "ids": ids, "tokens": tokens}
    try:
        first, second = _two(token)
        name, its_id = (first, second) if isinstance(first, str) else (second, first)
        name = of_type(name, str)
        return {"id": name, "ids": [token_id(its_id)], "tokens": [name]}
    except (OverflowError, ValueError) as error:
        raise TypeError(f"special token {token!r:.60}: {error}") from None


def _pieces(template: Any) -> list[dict[str, Any]]:
    items = template.split(" ") if isinstance(template, str) else [*sequence(template)]
    if not all(map(is_text, items)):
        raise TypeError("Expected Union[str, List[str]]")
    return [*map(_piece, items)]


def _piece(item: str) -> dict[str, Any]:
    """Return the JSON of an item of a template. Raises ValueError if it is invalid."""
    name, colon, written = item.partition(":")
    type_id = _number(written) if colon else 0
    if type_id is not None and not name.startswith("$"):
        return {"SpecialToken": {"id": name, "type_id": type_id}}
    which = name[1:].upper()
    type_id_in_name = 0 if which in ("", "A", "B") else _number(which)  # "$1" is "$A:1"
    if type_id is None or type_id_in_name is None:
        raise ValueError(f'Cannot build Piece from string "{item:.60}"')
    return {"Sequence": {"id": "B" if which == "B" else "A", "type_id": type_id if colon else type_id_in_name}}


def _number(text: str) -> int | None:
    """Return the 32-bit number that a text spells; None: it spells no such number."""
    digits = text.removeprefix("+")
    return found if digits.isascii() and digits.isdigit() and (found := decimal(digits)) <= MAX_ID else None


class Sequence(Indexed, PostProcessor):
    """Several post-processors, applied in order.

    Args:
        processors_py: list of post-processors.
    """

    key = "processors"
    base = PostProcessor

    def __init__(self, processors_py: list[Any]) -> None:
        super().__init__(processors_py)

    def n_added(self, is_pair: bool) -> int:
        return sum(step.n_added(is_pair) for step in self._steps)

    def around(self, encodings: list[Encoding], adds_special: bool) -> list[Encoding]:
        for step in self._steps:
            encodings = step.around(encodings, adds_special)
        return encodings


_CLASSES = by_kind(ByteLevel, BertProcessing, RobertaProcessing, TemplateProcessing, Sequence)


def find(described: Any) -> Any:
    """Create the post-processor that a tokenizer.json describes. Raises FormatError if it is invalid."""
    return _CLASSES[canonical(described)["type"]].from_state(described)


Sequence.find = staticmethod(find)
