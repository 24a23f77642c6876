"""Post-processors of a tokenizer.json, as templates: the ids that they put around texts."""

from __future__ import annotations

from fastbpe.errors import FormatError
from fastbpe.formats.huggingface.parts import Part, flat
from fastbpe.model import PAIR, TEXT, Templates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_KINDS = ("TemplateProcessing", "RobertaProcessing", "BertProcessing", "ByteLevel")
_TEXTS = {"A": TEXT, "B": PAIR}


def read(part: Part | None) -> Templates:
    """Return the templates that are equivalent to a chain of post-processors."""
    return Templates(_around(part, ((TEXT,),)), _around(part, ((TEXT,), (PAIR,))))


def _around(part: Part | None, texts: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the template for some texts.

    Each post-processor gets the parts returned by the one before. A template returns one part for each of its
    items; the others return as many parts as they get.
    """
    made = [*texts]
    for step in flat(part, "processors"):
        kind = kind_of(step)
        if kind == "TemplateProcessing":
            made = _fill(step, made)
        elif kind in ("RobertaProcessing", "BertProcessing"):
            first, last = _pair_id(step, "cls"), _pair_id(step, "sep")
            between = (last,) if kind == "RobertaProcessing" else ()
            made = [(*(between if i else (first,)), *text, last) for i, text in enumerate(made)]
        elif kind == "ByteLevel":  # it changes offsets only
            for key in ("add_prefix_space", "trim_offsets"):
                step.get(key, bool)
            step.member("use_regex", bool, True)
        else:
            step.fail(
                f"the post-processor {kind!r} is not supported; it knows TemplateProcessing, RobertaProcessing, "
                "BertProcessing, ByteLevel and Sequence"
            )
    return tuple(item for text in made for item in text)


def typed(part: Part) -> dict[str, Any]:
    """Return a post-processor as in the file, with the type of each step."""
    if part.value.get("type") == "Sequence":
        return {**part.value, "processors": [typed(step) for step in part.parts("processors")]}
    return {**part.value, "type": kind_of(part)}


def kind_of(step: Part) -> str:
    """Return the kind of a post-processor. Without a valid type, its members decide, as in tokenizers."""
    value = step.value
    kind = value.get("type")
    pairs = all(isinstance(value.get(key), list) and len(value[key]) == 2 for key in ("sep", "cls"))
    if kind == "RobertaProcessing" or kind not in _KINDS:
        if pairs and all(isinstance(value.get(key), bool) for key in ("trim_offsets", "add_prefix_space")):
            return "RobertaProcessing"
        if pairs:
            return "BertProcessing"
        if isinstance(value.get("single"), list):
            return "TemplateProcessing"
    return str(step.get("type", str))


def _fill(step: Part, texts: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """Return the parts that result from putting one or two texts into a template."""
    for needed in ("single", "pair"):
        step.get(needed, list)
    step.get("special_tokens", dict)
    if len(texts) > 2:
        step.fail("it comes after another template, which tokenizers does not do")
    key = "single" if len(texts) == 1 else "pair"
    special = step.part("special_tokens")
    made: list[Sequence[int]] = []
    for item in step.parts(key):
        if "Sequence" in item.value:
            sequence = Part(item.value["Sequence"], item.where, f"{item.place}.Sequence")
            name = sequence.get("id", str)
            if name not in _TEXTS:
                sequence.fail(f"must be A or B, not {name!r:.60}", "id")
            made.append(texts[0 if name == "A" or len(texts) == 1 else 1])
            continue
        name = Part(item.value.get("SpecialToken"), item.where, f"{item.place}.SpecialToken").get("id", str)
        token = special.part(name) if special is not None else None
        if token is None:
            item.fail(f"{name!r} is not among the template's special_tokens")
        ids = token.get("ids", list)
        if not all(type(i) is int and i >= 0 for i in ids):
            token.fail(f"must be ids, not {ids!r:.60}", "ids")
        made.append(ids)
    n_texts = sum(item == TEXT for part in made for item in part)
    if key == "single" and n_texts != 1:
        step.fail(f"it must contain the text once, not {n_texts} times", "single")
    return made


def _pair_id(step: Part, key: str) -> int:
    value = step.get(key, list)
    if len(value) != 2 or type(value[1]) is not int or value[1] < 0:
        step.fail(f"must be a token and its id, not {value!r:.60}", key)
    return int(value[1])


def describe(templates: Templates, names: Sequence[str]) -> dict[str, Any] | None:
    """Return a TemplateProcessing that puts the same ids around texts; None if there are none.

    Args:
        templates: the templates for one text and for two.
        names: the token of each id.
    """
    if templates.single == (TEXT,) and templates.pair == (TEXT, PAIR):
        return None

    used = sorted({item for item in (*templates.single, *templates.pair) if item >= 0})
    if used and used[-1] >= len(names):
        raise FormatError(f"the template has the id {used[-1]}, which is not a token; export it as native")
    n_behind = len(split(templates.single)[1])

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


def split(single: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return (ids before the text of a template, ids after it)."""
    at = single.index(TEXT)
    return tuple(single[:at]), tuple(single[at + 1 :])


def renumbered(described: Any, new_ids: Mapping[int, int]) -> Any:
    """Renumber the ids in a description of post-processors. Raises KeyError for an id without a new one.

    Args:
        described: the part of a tokenizer.json; None: there is none.
        new_ids: old id → new id.
    """
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
