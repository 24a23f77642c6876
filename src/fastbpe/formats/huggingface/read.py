"""Reader of byte-level BPE vocabularies in Hugging Face's `tokenizer.json`, as tokenizers 0.23 reads them.

Merges are in the order of the list, and tokens are written in GPT-2's characters for bytes. The Model gets
everything that affects ids; the rest of the file is kept so that it can be written again. Truncation, padding and
dropout are not applied, because they are settings of a program and not of a vocabulary; a FormatWarning says so.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from operator import index
from typing import Any, NoReturn, TypeAlias, TypeVar

from fastbpe._utils.optional_imports import find_orjson
from fastbpe.errors import FormatError
from fastbpe.formats.byte_level import text_of
from fastbpe.formats.huggingface import _vocab_json, settings, step_parts, templates
from fastbpe.formats.huggingface import byte_vocabulary as vocabulary_
from fastbpe.formats.huggingface._vocab_json import Entries
from fastbpe.formats.huggingface.byte_vocabulary import Vocabulary
from fastbpe.formats.huggingface.named_tokens import NamedTokens
from fastbpe.formats.huggingface.step_parts import Part
from fastbpe.formats.json_object import loads
from fastbpe.model import TEXT, AddedToken, Buffer, CodePointModel, Model, Templates

_Made = TypeVar("_Made", Model, CodePointModel)
Make: TypeAlias = Callable[[Part, NamedTokens | None, Entries | None], _Made | None]


#: Members that a model keeps unchanged, to write them again.
KEPT = ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
_MEMBERS = frozenset({"version", "added_tokens", "model", *KEPT})
#: Bytes of ASCII that another character represents.
_UNSEEN = (*range(0x21), 0x7F)


def recognise(data: Buffer) -> bool:
    """Tell whether the data looks like a JSON object that contains a model."""
    head = bytes(data[:64]).lstrip(b"\xef\xbb\xbf \t\r\n")
    return head[:1] == b"{" and re.search(rb'"model"\s*:\s*\{', data) is not None


def parse(
    data: Buffer,
    where: str,
    *,
    special_tokens: Mapping[str, int] | None = None,
    named: NamedTokens | None = None,
    entries: Entries | None = None,
) -> Model:
    """Read the model in a file's bytes.

    Args:
        entries: vocabulary and merges, which are empty in the bytes; None: the bytes have them.

    Raises:
        FormatError: a damaged file, or an option that fastbpe does not support.
        WholeFileNeeded: the bytes must have the vocabulary and the merges.
    """
    return with_special(read_model(data, where, named, _model, entries), special_tokens)


def _model(top: Part, named: NamedTokens | None, entries: _vocab_json.Entries | None) -> Model | None:
    """Create the model of a parsed file; None if the slow reader must read the file.

    Args:
        top: the file, with empty vocabulary and merges if they are in `entries`.
        entries: vocabulary and merges from the fast reader.
    """
    model = top.needed("model")
    check_model(model)
    steps, prefix_space = step_parts.pre_tokenizers(top.part("pre_tokenizer"))
    n_byte_level = sum(step["type"] == "ByteLevel" for step in steps)
    if not n_byte_level:
        top.fail("no ByteLevel pre-tokenizer: only byte-level vocabularies are supported", "pre_tokenizer")
    if n_byte_level > 1:
        top.fail("two ByteLevel steps: the second would spell bytes twice; leave one out", "pre_tokenizer")
    step_parts.check_byte_decoder(top)
    whole_piece_first = model.get("ignore_merges", bool, False)
    tokens, tables = None, None
    vocabulary = vocabulary_.check_vocabulary(model) if entries is None else entries
    added = vocabulary_.read_added_tokens(top, vocabulary, named)
    _check_spaces(model, vocabulary, {token.content for token in added})
    if entries is not None:
        # A missing byte, or a token in other characters, may then be an error, which the slow twin reports.
        strict = whole_piece_first or model.value.get("unk_token") is not None
        laid_out = entries.lay_out(vocabulary_.found_by_name(added), strict)
        if laid_out is None:
            return None
        token_bytes, token_ends, merges, misses_bytes = laid_out
        tables = {"token_bytes": token_bytes, "token_ends": token_ends}
        ends = array("I", token_ends)
        ordinary = {i for i in _ids(added, vocabulary) if i < len(ends) and ends[i] > (ends[i - 1] if i else 0)}
    else:
        assert isinstance(vocabulary, dict)
        listed = vocabulary_.read_merges(model, vocabulary)
        tokens, merges, misses_bytes = vocabulary_.lay_out(model, vocabulary, listed, added, whole_piece_first)
        ordinary = {i for i in _ids(added, vocabulary) if i < len(tokens) and tokens[i]}
    if misses_bytes:
        _check_byte_fallback(model, vocabulary)
    special, others = vocabulary_.plain_special(added, vocabulary.get, ordinary)
    step_parts.warn_of_settings(top)
    around = templates.read(top)
    unknown = model.get("unk_token", str, "")
    return Model(
        tokens=tokens,
        tables=tables,
        pattern=None,
        special_tokens=special,
        merges=merges,
        merges_rule="merges",
        whole_piece_first=whole_piece_first,
        drops_bytes=misses_bytes,
        pre_tokenizers=steps,
        normalizers=step_parts.normalizers(top.part("normalizer")),
        prefix_space=prefix_space,
        added_tokens=others,
        template=templates.split(around.single),
        pair_template=around.pair,
        roles={"unk": unknown} if unknown else {},
        huggingface=kept_parts_of(top, vocabulary),
    )


def checked_top(value: Any, where: str) -> Part:
    """Return a parsed file as a Part. Raises FormatError for another version than 1.0, or an unknown member."""
    top = Part(value, where, "")
    if top.member("version", str, "1.0") != "1.0":
        top.fail(f"version {top.value['version']!r} is not known to this version of fastbpe; upgrade fastbpe")
    for name in top.value:
        if name not in _MEMBERS:
            top.fail(f"tokenizers refuses a file with the member {name!r:.60}; remove it")
    return top


def _check_spaces(model: Part, vocabulary: Vocabulary, added: Collection[str]) -> None:
    """Refuse a token that is a space or control character: fastbpe would match it, tokenizers never does.

    Such a token is allowed if it is an added token, or has a greater id than the right spelling of the same byte.
    """
    for byte in _UNSEEN:
        token = chr(byte)
        found = -1 if token in added else vocabulary.get(token, -1)
        if found >= 0 and not found > vocabulary.get(text_of(token.encode()), -1) >= 0:
            model.fail(
                f"token {token!r} is not spelled in GPT-2's characters for bytes, as {text_of(token.encode())!r}",
                "vocab",
            )


def kept_parts_of(top: Part, vocabulary: Vocabulary) -> dict[str, Any]:
    """Return the parts of a file that are kept for writing it again, and the id of an empty token."""
    kept = {key: top.value[key] for key in KEPT if top.value.get(key) is not None}
    if "post_processor" in kept:
        kept["post_processor"] = templates.canonical(kept["post_processor"])
    dropout = step_parts.dropout_of(top.needed("model"))
    if dropout is not None:
        kept["dropout"] = dropout
    return kept | ({"empty_token": vocabulary.get("", 0)} if "" in vocabulary else {})


def with_special(model: Model, special_tokens: Mapping[str, int] | None) -> Model:
    """Replace the special tokens of a model by `special_tokens`, name → id, without flags; None: keep them.

    A special token around texts gets the new id of its name; an id that then has no token is left out there.
    """
    if special_tokens is None:
        return model
    others = [token for token in model.added_tokens if not token.special]
    made = model._replace(special_tokens=dict(special_tokens), added_tokens=others)
    before, behind = model.template
    used = {item for item in (*before, *behind, *model.pair_template) if item >= 0}
    try:
        given = {name: index(token_id) for name, token_id in special_tokens.items()}
    except TypeError:  # not integers: the Tokenizer refuses them
        return made
    names = {token_id: name for name, token_id in model.special_tokens.items()}
    tokens = model.list_tokens() if used else []
    known = {i for i in used if i < len(tokens) and tokens[i]}
    known |= {*given.values(), *(token.id for token in others)}
    new_ids = {i: given.get(names.get(i, ""), i) for i in used}
    new_ids = {i: new for i, new in new_ids.items() if new in known}
    if all(new_ids.get(i) == i for i in used):
        return made

    def new(template: Sequence[int]) -> tuple[int, ...]:
        return tuple(new_ids.get(item, item) for item in template if item < 0 or item in new_ids)

    made = made._replace(template=(new(before), new(behind)), pair_template=new(model.pair_template))
    kept = dict(model.huggingface)
    if kept.get("post_processor") is not None:
        around = Templates((*made.template[0], TEXT, *made.template[1]), made.pair_template)
        shown = {new: names.get(i, str(i)) for i, new in new_ids.items()}
        shown |= {token_id: name for name, token_id in given.items()}
        kept["post_processor"] = templates.with_templates(kept["post_processor"], around, shown)
    return made._replace(huggingface=kept)


class WholeFileNeeded(Exception):
    """Signal that the slow reader must read a file, but has only the parts that the fast reader left."""


def read_model(
    data: Buffer,
    where: str,
    named: NamedTokens | None,
    make: Make[_Made],
    entries: Entries | None = None,
) -> _Made:
    """Read a file and create its model: the fast reader reads vocabulary and merges, a JSON parser the rest.

    Args:
        make: function that creates the model from the rest and the entries, or from the whole file. It returns
            None if the slow reader must read the file.
        entries: the entries, if the data is the rest; None: it is the whole file.

    Raises:
        FormatError: a damaged file.
        WholeFileNeeded: `make` returns None, and the data is the rest.
    """

    def build(document: object, entries: Entries | None) -> _Made | None:
        top = checked_top(document, where)
        model = make(top, with_padding(named, top), entries)
        return None if model is None else with_pad_role(model, named, top)

    raw = bytes(data)
    model: _Made | None = None
    if entries is not None:
        model = build(read_json(raw, where), entries)
        if model is None:
            raise WholeFileNeeded
        return model
    entries = _vocab_json.read(raw)
    if entries is not None:
        try:
            rest = read_json(entries.rest, where)
        except FormatError:
            pass  # the error has an offset in the rest; the slow reader finds its offset in the file
        else:
            model = build(rest, entries)
    if model is None:
        model = build(read_json(raw, where), None)
        assert model is not None
    return model


def with_padding(named: NamedTokens | None, top: Part) -> NamedTokens | None:
    """Return the named tokens with the token of the file's padding; None for a file that is read alone."""
    if named is None:
        return None
    return named.with_padding(settings.canonical("padding", top.value.get("padding"), top.where))


def with_pad_role(model: _Made, named: NamedTokens | None, top: Part) -> _Made:
    """Return a model with the pad token that `with_padding` adds."""
    padded = with_padding(named, top)
    if padded is None or padded is named:
        return model
    return model._replace(roles={**model.roles, "pad": padded.roles["pad"]})


def read_json(data: bytes, where: str) -> Any:
    """Parse JSON, with orjson if it is installed. Refuse NaN, Infinity and lone surrogates, as tokenizers does."""
    orjson = find_orjson()
    try:
        if orjson is not None:
            return orjson.loads(data)
        return loads(data, parse_constant=_refuse_constant)
    except RecursionError:
        raise FormatError(f"{where}: its JSON is nested too deeply") from None
    except ValueError as error:
        raise FormatError(f"{where}: not JSON: {error}") from None


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def check_bpe(model: Part) -> None:
    """Refuse models other than BPE, and a dropout that is not from 0 to 1."""
    kind = model.member("type", str, "BPE" if "merges" in model.value else "")
    if kind != "BPE":
        problem = f"{kind!r} is unknown" if kind else "missing"
        model.fail(f"{problem}; fastbpe knows BPE, Unigram, WordPiece and WordLevel", "type")
    step_parts.dropout_of(model)


def check_model(model: Part) -> None:
    """Refuse models other than BPE, and a prefix or suffix, which `read` and `read_llama` do not support."""
    check_bpe(model)
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.value.get(key) not in (None, ""):
            model.fail(f"{model.value[key]!r:.60} is not supported; it must be null", key)
    # Only their types matter: byte-level vocabularies know every character, and `read_llama` reads the values.
    for key in ("fuse_unk", "byte_fallback"):
        model.get(key, bool, False)


def _ids(added: list[AddedToken], vocabulary: Vocabulary) -> set[int]:
    """Return the ids of the added tokens, and of the ordinary tokens with the same text."""
    alike = {vocabulary.get(text_of(token.content.encode()), -1) for token in added}
    return {token.id for token in added} | alike - {-1}


def _check_byte_fallback(model: Part, vocabulary: Vocabulary) -> None:
    """Refuse byte_fallback if the character for a byte without a token may become byte tokens itself."""
    if model.get("byte_fallback", bool, False):
        for name in vocabulary_.BYTE_NAMES:
            if vocabulary.get(name, -1) >= 0:
                problem = f"not supported in a vocabulary that lacks tokens of some bytes and has {name}"
                model.fail(problem, "byte_fallback")
