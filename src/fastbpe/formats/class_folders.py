"""Folders with a tokenizer.json whose class in transformers builds the tokenizer's steps itself.

The class takes vocabulary, merges and added tokens from the file, and in some cases the post-processor. This
module replaces the file's other steps by the steps of the class (`class_steps`, `piece_classes`), and the usual
readers read the result. It also makes a tokenizer.json from a vocab.txt, or from a vocab.json with a merges.txt.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.warn import warn
from fastbpe.errors import FormatError, FormatWarning
from fastbpe.formats import limits
from fastbpe.formats.atomic_files import map_file
from fastbpe.formats.huggingface import (
    class_settings,
    class_steps,
    named_tokens,
    piece_classes,
    read_segmented,
    whisper_prompt,
)
from fastbpe.formats.huggingface import read as tokenizer_json
from fastbpe.formats.huggingface._vocab_json import Entries
from fastbpe.formats.huggingface.byte_vocabulary import (
    Vocabulary,
    check_vocabulary,
    listed_added_tokens,
    read_added_tokens,
)
from fastbpe.formats.huggingface.class_steps import Built
from fastbpe.formats.huggingface.named_tokens import Definition, NamedTokens
from fastbpe.formats.huggingface.scored_vocab import ScoredVocab
from fastbpe.formats.huggingface.step_parts import Part
from fastbpe.formats.huggingface.write import as_json
from fastbpe.formats.json_object import read_object
from fastbpe.formats.piece_folders import Find, OfPieces, as_template
from fastbpe.model import ROLES, AddedToken

#: Function from the name of a token in a template to its text and id.
Token = Callable[[str], tuple[str, int]]


class Prepared(NamedTuple):
    """A tokenizer.json with the steps of a class.

    Attributes:
        described: the file; vocabulary and merges are empty if they are in `entries`.
        entries: vocabulary and merges; None: `described` has them.
        named: tokens that the other files of the folder name.
    """

    described: dict[str, Any]
    entries: Entries | ScoredVocab | None
    named: NamedTokens

    def data(self) -> bytes:
        """Return the bytes of the file, without vocabulary and merges if `entries` has them."""
        return json.dumps(self.described).encode()

    def with_vocabulary(self, path: str) -> bytes:
        """Return the bytes of the file, with vocabulary and merges from the original file at `path`."""
        model = tokenizer_json.read_json(bytes(map_file(path)), path)["model"]
        full = {**self.described["model"], **{key: model[key] for key in ("vocab", "merges") if key in model}}
        return json.dumps({**self.described, "model": full}).encode()


def prepare(
    folder: str, path: str, config: Mapping[str, Any], class_name: str, *, names_count: bool
) -> Prepared | None:
    """Read the tokenizer.json of a folder, and replace its steps by the steps of the class.

    Args:
        names_count: add the tokens that the folder's other files name to the added tokens.

    Returns:
        The tokenizer.json with the steps of the class; None: the file's own steps apply, or it is another kind of
        file.

    Raises:
        FormatError: a damaged file, or one from which transformers cannot make a tokenizer.

    Warns:
        FormatWarning: fastbpe cannot build the steps of the class, and uses the file's steps.
    """
    built, rules = class_steps.CLASSES.get(class_name), piece_classes.WITH_JSON.get(class_name)
    if class_name in class_steps.UNKNOWN:
        _warn(path, class_name, class_steps.UNKNOWN[class_name])
    if built is None and rules is None:
        return None
    kind = built.kind if built is not None else "BPE" if rules is not None and rules.merges else "Unigram"
    file = _read(path, class_name, kind)
    if file is None:
        return None
    if built is not None:
        return _built(folder, file, config, class_name, built, names_count=names_count)
    builder = _OfPieces(folder, class_name, config, file)
    return _with_steps(builder.relisted(file), builder, file.listed, names_count=names_count)


def prepare_words(
    folder: str,
    path: str,
    vocab: Mapping[str, int],
    config: Mapping[str, Any],
    class_name: str,
    *,
    names_count: bool,
) -> Prepared:
    """Make the tokenizer.json of a vocabulary in a vocab.txt. Other arguments and errors: as for `prepare`."""
    file = _File(Part({"version": "1.0", "model": {"type": "WordPiece", "vocab": vocab}}, path, ""), None, b"")
    return _built(folder, file, config, class_name, class_steps.WORDS[class_name], names_count=names_count)


def prepare_pair(
    folder: str, paths: tuple[str, str], config: Mapping[str, Any], class_name: str, *, names_count: bool
) -> Prepared:
    """Make the tokenizer.json of a vocab.json with a merges.txt. Other arguments and errors: as for `prepare`."""
    path = paths[0]
    merges = bytes(map_file(paths[1])).decode("utf-8", "surrogateescape").split("\n")
    lines = [line.removesuffix("\r") for line in merges if line and not line.startswith("#version")]
    limits.check_number(len(lines), paths[1])
    limits.check_entries(map_file(path), path, b":")
    model = {"type": "BPE", "vocab": read_object(path), "merges": lines}
    file = _File(Part({"version": "1.0", "model": model}, path, ""), None, b"")
    return _built(folder, file, config, class_name, class_steps.CLASSES[class_name], names_count=names_count)


def _built(
    folder: str, file: _File, config: Mapping[str, Any], class_name: str, built: Built, *, names_count: bool
) -> Prepared:
    builder = _OfBuilt(folder, class_name, config, built, file.top.where)
    return _with_steps(file, builder, file.listed, names_count=names_count)


def _read(path: str, class_name: str, expected: str) -> _File | None:
    """Read a tokenizer.json; None if its own steps apply, or if it is another kind of file.

    expected: type of the model that the class makes; "": any.
    """
    data = bytes(map_file(path))
    if class_name == "Llama" and b'"ByteLevel"' in data:
        return None  # transformers takes the file as it is
    limits.check_entries(data, path, b":", b",")
    if not tokenizer_json.recognise(data):
        return None
    document, apart = read_segmented.read_apart(data, path, may_score=expected in ("", "Unigram"))
    top = tokenizer_json.checked_top(document, path)
    model = top.part("model")
    if model is None:
        return None
    kind = read_segmented.type_of(model)
    if expected and kind != expected:
        _warn(path, class_name, f"its model is {expected}, but the file has {kind}")
        return None
    listed = top.value.get("added_tokens")
    limits.check_added_tokens(len(listed) if isinstance(listed, list) else 0, path)
    if apart is not None and isinstance(apart, ScoredVocab) != (kind == "Unigram"):  # the other kind of vocabulary
        top, apart = tokenizer_json.checked_top(tokenizer_json.read_json(data, path), path), None
    return _File(top, apart, data)


def _with_steps(
    file: _File, builder: _OfPieces | _OfBuilt, listed: Sequence[AddedToken], *, names_count: bool
) -> Prepared:
    """Return a file with the steps of its class, which `builder` builds.

    Args:
        listed: as in `_File`, before `relisted`: a class that builds the tokenizer anew adds them in this order.
        names_count: as for `prepare`.
    """
    top = file.top
    named = tokenizer_json.with_padding(builder.named, top)
    assert named is not None
    own = file.own() if named.settings is None else listed
    added = named.add(own, file.vocabulary.get, len(file.vocabulary))
    ids = {token.content: token.id for token in added}
    steps = builder.steps(file, lambda name: ids[name] if name in ids else file.find(name))
    model = top.value["model"]
    vocabulary: dict[str, Any] = {key: model[key] for key in ("vocab", "merges") if key in model}
    described: dict[str, Any] = {
        "version": "1.0",
        **{key: top.value[key] for key in ("truncation", "padding") if key in top.value},
        **steps,
        "added_tokens": as_json(added if names_count else file.own()),
        "model": {**vocabulary, **steps["model"]},
    }
    return Prepared(described, file.apart, named)


def _warn(path: str, class_name: str, why: str) -> None:
    warn(
        f"{path}: the class {class_name}Tokenizer of transformers does not use the steps of this file: {why}; "
        f"fastbpe keeps the file's steps, so ids may differ; for the ids of the class, {class_settings.WAY_OUT}",
        FormatWarning,
    )


class _File:
    """Vocabulary and added tokens of a tokenizer.json.

    Attributes:
        top: the file, without vocabulary and merges if `apart` has them.
        apart: its vocabulary and merges, from a fast reader; None: `top` has them.
        pieces: its pieces by id, if its model scores pieces.
        listed: added tokens of the file itself, with their ids in the file, which may contradict the vocabulary.
        vocabulary: ordinary token → id.
    """

    def __init__(self, top: Part, apart: Entries | ScoredVocab | None, data: bytes) -> None:
        self.top, self.apart = top, apart
        model = top.part("model")
        assert model is not None
        self._scores: Sequence[float] = ()
        self.pieces: list[str] = []
        if isinstance(apart, Entries):
            self.vocabulary: Vocabulary = apart
        elif isinstance(model.value.get("vocab"), list):
            self.pieces, scores, self.vocabulary = read_segmented.scored_pieces(model, data, apart)
            self._scores = array("d", scores)
        else:
            self.vocabulary = check_vocabulary(model)
        self.listed = listed_added_tokens(top)

    def own(self) -> list[AddedToken]:
        """Return the added tokens with the ids that tokenizers gives them."""
        return read_added_tokens(self.top, self.vocabulary)

    def find(self, name: str) -> int:
        """Return the id of an ordinary token; -1: there is no such token."""
        return self.vocabulary.get(name, -1)

    def scored(self) -> Iterator[tuple[str, float]]:
        """Yield the pieces with their scores, by id."""
        return zip(self.pieces, self._scores, strict=True)

    def post_processor(self) -> dict[str, Any] | None:
        """Return the post-processor of the file; None: there is no post-processor."""
        found: dict[str, Any] | None = self.top.value.get("post_processor")
        return found


class _OfPieces(OfPieces):
    """Steps of a class that also reads sentencepiece models."""

    def __init__(self, folder: str, class_name: str, config: Mapping[str, Any], file: _File) -> None:
        self._state(file.top.where, config, class_name)
        self.pieces = []
        self.charsmap = _charsmap(file.top)
        self.unknown_piece = self._integer("unk_id", 1 if class_name == "DebertaV2" else 0)
        named = named_tokens.read(folder, self.rules.settings)
        default = () if named.extra else piece_classes.DEFAULT_EXTRA.get(class_name, ())
        self.extra = [*named.extra, *(Definition(name, is_text=True) for name in default)]
        self.named = self._with_rules(named)

    def steps(self, file: _File, find: Find) -> dict[str, Any]:
        """Return the steps and the options of the model. find: function from a token or added token to its id."""
        if self.rules.merges:
            model = class_steps.merging(unk_token=self._text("unk"), fuse_unk=True)
        else:
            unknown = self._unknown(file.scored(), len(file.pieces))
            model = {"type": "Unigram", "unk_id": unknown, "byte_fallback": False}
        return {**self._steps(), "post_processor": self._processor(file, find), "model": model}

    def relisted(self, file: _File) -> _File:
        """Return the file with the pieces that the class adds, which may move the ids of others.

        MBart50Tokenizer adds the codes of all languages to a file without such codes.
        """
        if self.class_name != "MBart50" or any(file.find(code) >= 0 for code in self.rules.codes):
            return file
        self.pieces = [*file.scored()]
        pieces = self._listed()
        ids = {piece: i for i, (piece, _) in enumerate(pieces)}
        added = NamedTokens(settings=self.rules.settings).add(file.listed, ids.get, len(ids))
        model = {**file.top.value["model"], "vocab": [*map(list, pieces)]}
        value = {**file.top.value, "added_tokens": as_json(added), "model": model}
        return _File(Part(value, self.where, ""), None, json.dumps(value).encode())

    def _processor(self, file: _File, find: Find) -> dict[str, Any]:
        own, template = file.post_processor(), self.rules.template
        if own is not None and (not template or self.rules.is_early) and self.class_name != "RemBert":
            return own
        if self.class_name == "Nllb" and self.config.get("legacy_behaviour"):
            template = piece_classes.CLASSES["MBart"].template
        if self.class_name == "RemBert" and own is not None:  # its class replaces this one, but adds none
            template = piece_classes.CLASSES["BigBird"].template
        return as_template(template or class_steps.PLAIN, lambda name: self._token(name, find))


class _OfBuilt:
    """Steps of a class of `class_steps`."""

    def __init__(self, folder: str, class_name: str, config: Mapping[str, Any], built: Built, path: str) -> None:
        self.class_name, self.config, self.built, self.where = class_name, config, built, path
        named = named_tokens.read(folder, built.settings)
        # A class that uses the steps of the file keeps its added tokens; any other builds the tokenizer anew.
        self.named = named if built.steps is not None else named._replace(settings=None)

    def steps(self, file: _File, find: Find) -> dict[str, Any]:
        """Return the steps and the options of the model, as `_OfPieces.steps`."""
        if self.built.steps is None:
            steps = {key: file.top.value.get(key) for key in ("normalizer", "pre_tokenizer", "decoder", "model")}
        else:
            steps = self.built.steps(self.config, self.named.roles, _charsmap(file.top))
        return {**steps, "post_processor": self._processor(file, find)}

    def _processor(self, file: _File, find: Find) -> dict[str, Any] | None:
        built, own = self.built, file.post_processor()
        token = partial(self._token, find)
        if built.processor in ("RobertaProcessing", "BertProcessing"):
            return self._with_ends(token)
        if built.settings.has_prompt:
            return self._after_prompt(token)
        if self.class_name == "Splinter" and self.config.get("padding_side") == "left":
            return as_template(class_steps.SPLINTER_LEFT, token)
        if built.template:
            return as_template(built.template, token)
        if own is None and built.processor == "ByteLevel":
            return {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
        return as_template(class_steps.PLAIN, token) if own is None else own

    def _token(self, find: Find, name: str) -> tuple[str, int]:
        """Return the text and the id of a template's token.

        name: a role, the name of another token in tokenizer_config.json (such as question_token), or the text of a
            token. A token that does not exist gets the id of the unknown token, unless the name is a role.

        Raises:
            FormatError: a role has no token with an id, or the unknown token is needed but missing.
        """
        content = self.named.roles.get(name, "") if name in ROLES else name
        if found := self.named.named.get(name):
            content = found.content
        token_id = find(content)
        if token_id < 0 and name not in ROLES:
            token_id = find(self.named.roles.get("unk", ""))
        if token_id < 0:
            puts = f"{self.where}: the class {self.class_name}Tokenizer puts the"
            if name in ROLES:
                raise FormatError(
                    f"{puts} {name} token around texts, but no file names one that has an id: set {name}_token in "
                    "tokenizer_config.json to a token of the vocabulary"
                )
            raise FormatError(
                f"{puts} token {content!r:.60} into texts, but the vocabulary lacks it, and there is no unknown "
                f"token: add {content!r:.60} to the vocabulary"
            )
        return content, token_id

    def _with_ends(self, token: Token) -> dict[str, Any]:
        """Return the post-processor that puts two tokens, cls and sep, around texts."""
        built, config = self.built, self.config
        cls, sep = (list(token(role)) for role in built.ends)
        if built.processor == "BertProcessing":  # HerBERT's; its ids do not depend on the vocabulary
            return {"type": built.processor, "sep": [sep[0], 2], "cls": [cls[0], 0]}
        trims, prefixes = built.trims, built.prefixes
        if trims is None:
            trims = config.get("trim_offsets", True)
        if prefixes is None:
            prefixes = bool(config.get("add_prefix_space", built.settings.prefix_space))
        return {
            "type": built.processor,
            "sep": sep,
            "cls": cls,
            "trim_offsets": trims,
            "add_prefix_space": prefixes,
        }

    def _after_prompt(self, token: Token) -> dict[str, Any]:
        """Return the post-processor of Whisper, which puts its prompt before texts."""
        prompt = " ".join(whisper_prompt.tokens(self.config, self.where, lambda name: token(name)[1]))
        return as_template((f"{prompt} $A eos", f"{prompt} $A $B:1 eos:1"), token)


def _charsmap(top: Part) -> list[dict[str, Any]]:
    """Return a list of the first Precompiled among a file's normalizers; []: it has no such step."""
    found = top.value.get("normalizer")
    steps = found.get("normalizers") if isinstance(found, dict) and found.get("type") == "Sequence" else [found]
    for step in steps if isinstance(steps, list) else ():
        if isinstance(step, dict) and step.get("type") == "Precompiled" and "precompiled_charsmap" in step:
            return [step]
    return []
