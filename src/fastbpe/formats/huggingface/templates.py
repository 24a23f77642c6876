"""Post-processors of a tokenizer.json, as templates: the ids that they put around texts."""

from __future__ import annotations

from collections.abc import Mapping

from fastbpe.errors import FormatError
from fastbpe.formats.huggingface.decoder_json import MAX_DEPTH, fail, is_id, is_value
from fastbpe.formats.huggingface.step_parts import Part
from fastbpe.model import PAIR, TEXT, Templates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

#: Members of each kind, in the order in which tokenizers tries the kinds. Only ByteLevel and Sequence need a type.
_MEMBERS: Mapping[str, Mapping[str, str]] = {
    "RobertaProcessing": {"sep": "token", "cls": "token", "trim_offsets": "flag", "add_prefix_space": "flag"},
    "BertProcessing": {"sep": "token", "cls": "token"},
    "ByteLevel": {"add_prefix_space": "flag", "trim_offsets": "flag", "use_regex": "flag"},
    "TemplateProcessing": {"single": "template", "pair": "template", "special_tokens": "special"},
}
_EXPECTED = {"token": "a list of a token and its id", "flag": "true or false", "text": "text"}
_TEXTS = {"A": TEXT, "B": PAIR}


def read(top: Part) -> Templates:
    """Return the templates that the chain of post-processors of a file makes.

    Raises:
        FormatError: tokenizers would refuse the post-processors, or the template for one text does not contain the
            text exactly once.
    """
    steps = _chain(top)
    return Templates(_around(steps, ((TEXT,),)), _around(steps, ((TEXT,), (PAIR,))))


def trims(top: Part) -> bool:
    """Tell whether a post-processor of a file trims white space from offsets.

    Raises FormatError if tokenizers would refuse the post-processors.
    """
    return any(step.get("trim_offsets") for _, step in _chain(top))


def _chain(top: Part) -> list[tuple[str, Mapping[str, Any]]]:
    """Return (place, step) of each post-processor of a file."""
    described, place = top.value.get("post_processor"), f"{top.where}: post_processor"
    return [] if described is None else [*_flat(canonical(described, place), place)]


def canonical(described: Any, place: str = "post_processor", depth: int = 0) -> dict[str, Any]:
    """Return the JSON of a post-processor as tokenizers writes it: each step with only its type and its members.

    tokenizers takes the first kind whose members suit, whatever the type says.

    place: the file and where in it the post-processor is, for errors; depth: number of nested sequences around it.

    Raises:
        FormatError: tokenizers would refuse it.

    >>> canonical({"sep": ["</s>", 2], "cls": ["<s>", 1]})
    {'type': 'BertProcessing', 'sep': ['</s>', 2], 'cls': ['<s>', 1]}
    """
    kind = described.get("type") if isinstance(described, Mapping) else None
    flaws: dict[str, str] = {}  # texts, as an error would keep the frames of all callers
    for name, members in _MEMBERS.items():
        given = _members(described, members)
        if given is not None and (name != "ByteLevel" or kind == name):
            try:
                return {"type": name, **_checked(name, given, place)}
            except FormatError as error:
                flaws[name] = str(error)
    if kind != "Sequence":
        if isinstance(kind, str) and kind in flaws:
            raise FormatError(flaws[kind])
        is_named = isinstance(kind, str) and kind not in _MEMBERS
        problem = (
            f"the post-processor {kind!r:.60} is unknown"
            if is_named
            else f"{described!r:.60} is not a post-processor"
        )
        fail(place, f"{problem}; fastbpe knows {', '.join(_MEMBERS)} and Sequence")
    steps = described.get("processors")
    if not isinstance(steps, list) or depth >= MAX_DEPTH:
        fail(place, f"a Sequence needs a list 'processors', not more than {MAX_DEPTH} levels deep")
    inner = [canonical(step, f"{place}.processors[{i}]", depth + 1) for i, step in enumerate(steps)]
    return {"type": "Sequence", "processors": inner}


def _checked(kind: str, given: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return only the members that a kind has. Raises FormatError for a value that does not suit."""
    made: dict[str, Any] = {}
    for name, option in _MEMBERS[kind].items():
        default = True if name == "use_regex" else None  # None is no valid value
        value, where = given.get(name, default), f"{place}.{name}"
        if option == "template":
            made[name] = [_item(one, f"{where}[{i}]") for i, one in enumerate(_of_type(list, value, where))]
        elif option == "special":
            listed = _of_type(dict, value, where).items()
            made[name] = {token: _special(one, f"{where}.{token}") for token, one in listed}
        else:
            made[name] = _valid(option, value, where, f"in {kind} it ")
    return made


def _item(value: Any, place: str) -> dict[str, Any]:
    """Return an item of a template: a text, or the name of a special token."""
    if not isinstance(value, dict) or len(value) != 1 or not value.keys() <= {"Sequence", "SpecialToken"}:
        fail(place, f"must be an object with one member, Sequence or SpecialToken, not {value!r:.60}")
    [(kind, given)] = value.items()
    inner = _members(given, ("id", "type_id"))
    if inner is None:
        fail(f"{place}.{kind}", f"must be an object with id and type_id, not {given!r:.60}")
    name = _valid("text", inner.get("id"), f"{place}.{kind}.id")
    if kind == "Sequence" and name not in _TEXTS:
        fail(f"{place}.{kind}.id", f"must be A or B, not {name!r:.60}")
    return {kind: {"id": name, "type_id": _id(inner.get("type_id"), f"{place}.{kind}.type_id")}}


def _special(value: Any, place: str) -> dict[str, Any]:
    given = _members(value, ("id", "ids", "tokens"))
    if given is None:
        fail(place, f"must be an object with id, ids and tokens, not {value!r:.60}")
    ids, tokens = (_of_type(list, given.get(name), f"{place}.{name}") for name in ("ids", "tokens"))
    return {
        "id": _valid("text", given.get("id"), f"{place}.id"),
        "ids": [_id(one, f"{place}.ids") for one in ids],
        "tokens": [_valid("text", one, f"{place}.tokens") for one in tokens],
    }


def _members(value: Any, names: Iterable[str]) -> Mapping[str, Any] | None:
    """Return the members of an object, or of a list of their values in order; None for anything else."""
    if isinstance(value, list):
        names = [*names]
        return dict(zip(names, value, strict=True)) if len(names) == len(value) else None
    return value if isinstance(value, Mapping) else None


def _of_type(kind: type, value: Any, place: str) -> Any:
    if not isinstance(value, kind):
        fail(place, f"must be {'a list' if kind is list else 'an object'}, not {value!r:.60}")
    return value


def _valid(option: str, value: Any, place: str, subject: str = "") -> Any:
    if not is_value(option, value):
        fail(place, f"{subject}must be {_EXPECTED[option]}, not {value!r:.60}")
    return value


def _id(value: Any, place: str) -> int:
    if not is_id(value):
        fail(place, f"must be 0 to 2**32 - 1, not {value!r:.60}")
    return int(value)


def _flat(step: Mapping[str, Any], place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (place, step) of each step, without sequences around them."""
    if step["type"] != "Sequence":
        yield place, step
        return
    for i, inner in enumerate(step["processors"]):
        yield from _flat(inner, f"{place}.processors[{i}]")


def _around(steps: Sequence[tuple[str, Mapping[str, Any]]], texts: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the template for some texts.

    Each post-processor gets the parts that the previous one made. A template turns each of its items into a part;
    other post-processors return as many parts as they get. ByteLevel changes offsets only.
    """
    made = [*texts]
    for place, step in steps:
        kind = step["type"]
        if kind == "TemplateProcessing":
            made = _fill(step, place, made)
        elif kind != "ByteLevel":
            first, last = step["cls"][1], step["sep"][1]
            between = (last,) if kind == "RobertaProcessing" else ()
            made = [(*(between if i else (first,)), *text, last) for i, text in enumerate(made)]
    return tuple(item for text in made for item in text)


def _fill(step: Mapping[str, Any], place: str, texts: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """Return the parts into which a template turns one text or two."""
    if len(texts) > 2:
        fail(place, f"it gets {len(texts)} parts from the step before it, but tokenizers accepts only one or two")
    key = "single" if len(texts) == 1 else "pair"
    made: list[Sequence[int]] = []
    for i, item in enumerate(step[key]):
        [(kind, inner)] = item.items()
        name = inner["id"]
        if kind == "Sequence":
            made.append(texts[0 if name == "A" or len(texts) == 1 else 1])
        elif name in step["special_tokens"]:
            made.append(step["special_tokens"][name]["ids"])
        else:
            fail(f"{place}.{key}[{i}]", f"{name!r} is not among the template's special_tokens")
    n_texts = sum(item == TEXT for part in made for item in part)
    if key == "single" and n_texts != 1:
        fail(f"{place}.single", f"it must contain the text once, not {n_texts} times")
    return made


def describe(templates: Templates, names: Sequence[str] | Mapping[int, str]) -> dict[str, Any] | None:
    """Return a TemplateProcessing that puts the same ids around texts; None if it puts no ids.

    names: the token of each id.

    Raises:
        FormatError: an id around texts is not a token.
    """
    if templates.single == (TEXT,) and templates.pair == (TEXT, PAIR):
        return None
    used = sorted({item for item in (*templates.single, *templates.pair) if item >= 0})
    for token_id in used:
        try:
            names[token_id]
        except LookupError:
            raise FormatError(
                f"the template has the id {token_id}, which is not a token; export this tokenizer as native"
            ) from None
    n_behind = len(split(templates.single)[1])  # in a pair, as many ids after the first text have its type id

    def items(template: Sequence[int]) -> list[dict[str, Any]]:
        first = template.index(TEXT) if TEXT in template else len(template)
        made: list[dict[str, Any]] = []
        for i, item in enumerate(template):
            type_id = int(item == PAIR or (item != TEXT and PAIR in template and i > first + n_behind))
            if item >= 0:
                made.append({"SpecialToken": {"id": names[item], "type_id": type_id}})
            else:
                made.append({"Sequence": {"id": "A" if item == TEXT else "B", "type_id": type_id}})
        return made

    return {
        "type": "TemplateProcessing",
        "single": items(templates.single),
        "pair": items(templates.pair),
        "special_tokens": {names[i]: {"id": names[i], "ids": [i], "tokens": [names[i]]} for i in used},
    }


def with_templates(described: Any, templates: Templates, names: Mapping[int, str]) -> dict[str, Any] | None:
    """Return the JSON of post-processors that trim offsets as `described` does, with other ids around texts.

    None if they do neither. names: the token of each id around texts.

    Raises FormatError as `canonical` does.
    """
    steps: list[dict[str, Any]] = [
        {
            "type": "ByteLevel",
            "add_prefix_space": step["add_prefix_space"],
            "trim_offsets": True,
            "use_regex": True,
        }
        for _, step in _flat(canonical(described), "")
        if step.get("trim_offsets")
    ]
    if (template := describe(templates, names)) is not None:
        steps.append(template)
    return {"type": "Sequence", "processors": steps} if len(steps) > 1 else next(iter(steps), None)


def split(single: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return (ids before the text of a template, ids after it)."""
    at = single.index(TEXT)
    return tuple(single[:at]), tuple(single[at + 1 :])


def renumbered(described: Any, new_ids: Mapping[int, int]) -> Any:
    """Renumber the ids in the JSON of post-processors; None stays None. KeyError for an id without a new one."""
    if not isinstance(described, dict):
        return described
    made = dict(described)
    if isinstance(made.get("processors"), list):
        made["processors"] = [renumbered(step, new_ids) for step in made["processors"]]
    for key in ("cls", "sep"):
        if isinstance(made.get(key), list):
            name, token_id = made[key]
            made[key] = [name, new_ids[token_id]]
    if isinstance(made.get("special_tokens"), dict):
        made["special_tokens"] = {
            name: {**token, "ids": [new_ids[token_id] for token_id in token["ids"]]}
            for name, token in made["special_tokens"].items()
        }
    return made
