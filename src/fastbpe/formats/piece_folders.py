"""Folders with a sentencepiece `.model` whose class in transformers has its own rules for the pieces.

The class moves ids, adds tokens, and normalizes and splits texts by rules of its own (`piece_classes`). This
module combines them and the model into a tokenizer.json, as transformers does, for the readers of such files.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from fastbpe.errors import FormatError
from fastbpe.formats.atomic_files import map_file
from fastbpe.formats.huggingface import (
    class_settings,
    named_tokens,
    piece_classes,
    read_characters,
    read_segmented,
    write_llama,
)
from fastbpe.formats.huggingface import tokenizer_config as config_file
from fastbpe.formats.huggingface.named_tokens import Definition, NamedTokens
from fastbpe.formats.huggingface.piece_classes import Rules
from fastbpe.formats.huggingface.step_json import metaspace
from fastbpe.formats.huggingface.write import document
from fastbpe.formats.limits import MAX_EXTRA_IDS
from fastbpe.model import CodePointModel, Model, PieceType

_Scored = list[tuple[str, float]]
#: Function from the text of a token to its id; -1: there is no such token.
Find = Callable[[str], int]
_N_EXTRA, _N_RESERVED = 100, 103  # extra_ids of T5, and offset of Pegasus


def read(
    folder: str,
    path: str,
    config: Mapping[str, Any],
    class_name: str,
    special_tokens: Mapping[str, int] | None = None,
) -> Model | CodePointModel:
    """Read the model of a folder with a `.model`. class_name: one of `piece_classes.CLASSES`.

    Raises:
        FormatError: a damaged file, or one from which transformers cannot make a tokenizer.
    """
    made = OfPieces(folder, path, config, class_name)
    described = json.dumps(made.describe()).encode()
    if made.rules.merges:
        model: Model | None = read_characters.parse(described, path, special_tokens=special_tokens)
    else:
        model = read_segmented.parse(described, path, special_tokens=special_tokens)
    assert model is not None
    model = model._replace(roles={**model.roles, **made.named.roles})
    return config_file.with_own_tokens(model, folder, made.named, is_bare=False)


class OfPieces:
    """A tokenizer.json in the making.

    Attributes:
        where, config, class_name: path of the vocabulary, content of tokenizer_config.json, and the class.
        rules: rules of the class.
        pieces: pieces of the model with their scores, by id.
        charsmap: list of the model's normalization rules as one normalizer; []: the model has no rules.
        unknown_piece: id of the unknown token in the model.
        extra: tokens without a role: control symbols and user-defined pieces of the model; for a tokenizer.json,
            special tokens of the other files.
        named: tokens that the other files of the folder name, and tokens that the class adds.
        states_mask: a file names the token of the role mask, or sets it to null.
    """

    pieces: _Scored
    charsmap: list[dict[str, Any]]
    unknown_piece: int
    extra: list[Definition]
    named: NamedTokens

    def __init__(self, folder: str, path: str, config: Mapping[str, Any], class_name: str) -> None:
        from fastbpe.formats.sentencepiece import model_file  # here: a tokenizer.json needs no such reader

        self._state(path, config, class_name)
        pieces = model_file.parse(map_file(path), path, any_text=True)  # only the pieces count
        self.pieces = [
            (piece.decode("utf-8", "surrogateescape"), score)
            for piece, score in zip(pieces.pieces, array("f", pieces.scores), strict=True)
        ]
        if class_name in piece_classes.UNIGRAM_ONLY and pieces.trainer["model_type"] != "unigram":
            self._fail("its type is not unigram")
        self.charsmap = piece_classes.precompiled(pieces.normalizer["precompiled_charsmap"])
        self.unknown_piece = pieces.trainer["unk_id"]
        self.extra = [
            Definition(piece, special=kind == PieceType.CONTROL, normalized=False)
            for (piece, _), kind in zip(self.pieces, pieces.types, strict=True)
            if kind in (PieceType.CONTROL, PieceType.USER_DEFINED)
        ]
        self.named = self._with_rules(named_tokens.read(folder, self.rules.settings, beside_pieces=True))

    def _state(self, path: str, config: Mapping[str, Any], class_name: str) -> None:
        self.where, self.config, self.class_name = path, config, class_name
        self.rules: Rules = piece_classes.WITH_JSON[class_name]

    def describe(self) -> dict[str, Any]:
        """Return the tokenizer.json."""
        rules = self.rules
        listed = [] if rules.merges else self._listed()
        vocab = self._numbered() if rules.merges else {piece: i for i, (piece, _) in enumerate(listed)}
        added = self.named.add((), vocab.get, len(vocab) if rules.merges else len(listed))
        ids = {**vocab, **{token.content: token.id for token in added}}
        if rules.is_early:
            for role in ("cls", "sep"):
                self._token(role, lambda name: vocab.get(name, -1))  # raises if the token is not a piece
        return document(
            added_tokens=added,
            **self._steps(),
            post_processor=self._around(lambda name: ids.get(name, -1)),
            **(self._merging(vocab) if rules.merges else self._scored(listed)),
        )

    def _steps(self) -> dict[str, Any]:
        """Return normalizer, pre-tokenizer and decoder."""
        rules = self.rules
        # With add_prefix_space false, DeBERTa's class still takes "first", and not "never".
        scheme = "always" if not rules.has_prefix or self.config.get("add_prefix_space", True) else "never"
        if self.class_name == "SeamlessM4T" or (self.class_name == "DebertaV2" and scheme == "never"):
            scheme = "first"
        spaces = metaspace(scheme)
        before = [{"type": "WhitespaceSplit"}] if rules.splits_words else []
        if rules.splits_punctuation and self.config.get("split_by_punct"):
            before = [{"type": "Punctuation", "behavior": "Isolated"}]
        normalizers = rules.normalizers(self.config, self.charsmap)
        return {
            "normalizer": {"type": "Sequence", "normalizers": normalizers} if normalizers else None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*before, spaces]},
            "decoder": {"type": "Sequence", "decoders": [spaces, {"type": "ByteFallback"}, {"type": "Fuse"}]}
            if rules.falls_back
            else spaces,
        }

    def _fail(self, what: str) -> NoReturn:
        raise FormatError(
            f"{self.where}: transformers cannot make a {self.class_name}Tokenizer from this model: {what}; the "
            "class in tokenizer_config.json may be wrong; for the model's own ids, pass the path of this file"
        )

    def _text(self, role: str) -> str:
        """Return the token of a role; "None" if a file sets it to null, as transformers does.

        A name that is not a role of the class is a token itself.
        """
        if role not in self.rules.settings.roles:
            return role
        return self.named.roles.get(role, "None")

    def _integer(self, name: str, default: int) -> int:
        """Return a setting of tokenizer_config.json."""
        value = self.config.get(name, default)
        if type(value) is not int or not 0 <= value <= MAX_EXTRA_IDS:
            self._refuse(name, f"an integer from 0 to {MAX_EXTRA_IDS}", value)
        return value

    def _sentence_mask(self, default: str) -> str | None:
        value = self.config.get("mask_token_sent", default)
        if value is not None and not isinstance(value, str):
            self._refuse("mask_token_sent", "text or null", value)
        return value

    def _refuse(self, name: str, expected: str, value: object) -> NoReturn:
        where = f"{self.where}: {named_tokens.CONFIG} next to it"
        raise FormatError(f"{where}: {name}: must be {expected}, not {value!r:.60}")

    def _with_rules(self, named: NamedTokens) -> NamedTokens:
        """Return the tokens that the files name, with the tokens that the class adds."""
        self.states_mask = "mask_token" in named.named or "mask" in named.silenced
        if self.class_name == "Pegasus" and not self.states_mask:
            named = named._replace(named={**named.named, "mask_token": Definition("<mask_2>", is_text=True)})
        if not named.has_extra:
            named = named._replace(extra=self._extra(named))
        elif self.class_name == "MLuke":
            known = {token.content for token in named.extra}
            named = named._replace(
                extra=[*named.extra, *(token for token in self.extra if token.content not in known)]
            )
        return named

    def _extra(self, named: NamedTokens) -> list[Definition]:
        """Return the special tokens without a role."""
        extra, known = self.extra, {token.content for token in self.extra}
        if self.class_name == "MBart":
            codes = self.rules.codes
            return [*_texts(codes), *(token for token in extra if token.content not in codes)]
        if self.class_name == "MBart50":
            return [*extra, *_texts(self.rules.codes)]
        if self.class_name in piece_classes.WITH_SENTINELS:
            n, found = self._integer("extra_ids", _N_EXTRA), sum("<extra_id_" in name for name in known)
            if found and n and found != n:
                self._fail(f"it has {found} tokens <extra_id_…>, but extra_ids is {n}")
            return extra if found else [*extra, *_texts(f"<extra_id_{i}>" for i in range(n))]
        if self.class_name == "Pegasus":
            sentence = self._sentence_mask("<mask_1>")
            reserved = [f"<unk_{i}>" for i in range(2, self._integer("offset", _N_RESERVED))]
            return _texts([*([] if sentence is None else [sentence]), *reserved])
        return extra

    def _listed(self) -> _Scored:
        """Return the pieces and scores by id, for a class that scores pieces."""
        rules = self.rules
        if not (rules.head or rules.n_replaced):
            return self.pieces + self._extra_ids()
        # Scores as in the classes.
        head = [(self._text(name), -100.0 if name == "<unk>NOTUSED" else 0.0) for name in rules.head]
        if self.class_name == "Pegasus":
            head = self._pegasus_head()
        tail = [*rules.codes, *([self._text("mask")] if rules.ends_with_mask else [])]
        return [*head, *self.pieces[rules.n_replaced :], *((name, 0.0) for name in tail)]

    def _numbered(self) -> dict[str, int]:
        """Return piece → id, for a class that merges: first the tokens of `head`, then the other pieces."""
        if not self.rules.head:
            return {piece: i for i, (piece, _) in enumerate(self.pieces)}
        found = {self._text(name): i for i, name in enumerate(self.rules.head)}
        if self.class_name == "SeamlessM4T" and [piece for piece, _ in self.pieces[:3]] != [
            "<unk>",
            "<s>",
            "</s>",
        ]:
            raise FormatError(
                f"{self.where}: the first pieces must be <unk>, <s> and </s>: otherwise SeamlessM4TTokenizer "
                f"gives one id to two tokens; {class_settings.WAY_OUT}"
            )
        for piece, _ in self.pieces:
            found.setdefault(piece, len(found))
        return found

    def _extra_ids(self) -> _Scored:
        if self.class_name not in piece_classes.WITH_SENTINELS:
            return []
        return [(f"<extra_id_{i}>", 0.0) for i in reversed(range(self._integer("extra_ids", _N_EXTRA)))]

    def _pegasus_head(self) -> _Scored:
        """Return the pieces before the model's own. transformers swaps the two mask tokens' defaults here."""
        mask = self.named.roles.get("mask", "None") if self.states_mask else "<mask_1>"
        sentence = self._sentence_mask("<mask_2>")
        masks = [mask] if mask != "None" else []
        if sentence not in (None, "None", mask):
            masks.append(sentence)
        reserved = range(2, self._integer("offset", _N_RESERVED))
        names = [self._text("pad"), self._text("eos"), *masks]
        return [*((name, 0.0) for name in names), *((f"<unk_{i}>", -100.0) for i in reserved)]

    def _scored(self, listed: _Scored) -> dict[str, Any]:
        """Return the "model" for a class that scores pieces."""
        unknown = self._unknown(listed, len(listed))
        return {"type": "Unigram", "unk_id": unknown, "vocab": listed, "byte_fallback": False}

    def _unknown(self, listed: Iterable[tuple[str, float]], n_listed: int) -> int:
        """Return the id of the unknown token among the pieces of the tokenizer.json, which have scores."""
        unknown = self.rules.unknown
        if isinstance(unknown, str):
            name = self._text("unk")
            start = 1 if self.class_name == "Pegasus" else 0  # its class searches from there
            places = (
                i
                for i, (piece, score) in enumerate(listed)
                if piece == name and i >= start and (unknown == "listed" or not score)
            )
            found = None if unknown == "piece" else next(places, None)
            if found is None and self.class_name == "Pegasus":
                self._fail(f"no piece after the first has the score 0 and the text of the unk_token, {name!r:.60}")
            other = self.rules.unknown_else
            unknown = found if found is not None else self.unknown_piece if other < 0 else other
        if not 0 <= unknown < n_listed:
            self._fail(f"the unknown token has the id {unknown}, but there are {n_listed} pieces")
        return unknown

    def _merging(self, vocab: Mapping[str, int]) -> dict[str, Any]:
        """Return the "model" for a class that merges: all pairs that form a piece, in the order of the pieces."""
        pieces = dict.fromkeys(piece for piece, _ in self.pieces)
        lengths = {*map(len, pieces)}
        merges = [
            (piece[:cut], piece[cut:])
            for piece in pieces
            for cut in write_llama.cuts(piece, lengths)
            if piece[:cut] in pieces and piece[cut:] in pieces
        ]
        return {
            "type": "BPE",
            "unk_token": None if self.rules.falls_back else self._text("unk"),
            "fuse_unk": True,
            "byte_fallback": self.rules.falls_back,
            "vocab": vocab,
            "merges": merges,
        }

    def _around(self, find: Find) -> dict[str, Any]:
        """Return the post-processor, from the template of the class or from add_bos_token and add_eos_token."""
        template = self.rules.template
        config, roles = self.config, self.named.roles
        is_stated = "add_bos_token" in config or "add_eos_token" in config
        if not template or (self.rules.is_early and is_stated):
            first, last = (
                [role] if config.get(f"add_{role}_token") and role in roles else [] for role in ("bos", "eos")
            )
            second = [f"{name}:1" for name in (*first, "$B", *last)]
            template = " ".join([*first, "$A", *last]), " ".join([*first, "$A", *last, *second])
        return as_template(template, lambda name: self._token(name, find))

    def _token(self, name: str, find: Find) -> tuple[str, int]:
        """Return the text and the id of a token of a template: of a role, or of the language."""
        content = self._language(find) if name == "lang" else self.named.roles.get(name, "")
        found = find(content)
        if found < 0 and name == "lang":
            found = find(self.named.roles.get("unk", ""))
        if found < 0:
            kind = "language" if name == "lang" else name
            why = f"{content!r:.60} has no id" if content else "no file names it"
            self._fail(f"the class puts the {kind} token around texts, but {why}")
        return content, found

    def _language(self, find: Find) -> str:
        """Return the token of the language; for MBart and SeamlessM4T, the unknown token if it has no id."""
        stated = self.config.get(self.rules.language_key)
        content = self.rules.language if stated is None else str(stated)
        unknown = self.named.roles.get("unk", "")
        if self.class_name == "SeamlessM4T":
            for key in ("src_lang", "tgt_lang"):  # the class writes both as __fra__
                if not isinstance(self.config.get(key, ""), str):
                    self._fail(f"{key} is not text")
            content = content if "__" in content else f"__{content}__"
        if self.class_name == "MBart50" and content not in self.rules.codes:
            self._fail(f"src_lang is {content!r:.40}, which is not a language code")
        is_strict = self.class_name in ("MBart", "SeamlessM4T")
        return unknown if is_strict and find(content) < 0 else content


def as_template(template: tuple[str, ...], token: Callable[[str], tuple[str, int]]) -> dict[str, Any]:
    """Return a post-processor.

    Args:
        template: templates for a text and for two, as in `piece_classes.Rules`.
        token: function from the name of a token in a template to its text and id.
    """
    found: dict[str, int] = {}

    def part(item: str) -> dict[str, Any]:
        name, _, type_id = item.partition(":")
        numbered = {"type_id": int(type_id or 0)}
        if name.startswith("$"):
            return {"Sequence": {"id": name[1:], **numbered}}
        content, found[content] = token(name)
        return {"SpecialToken": {"id": content, **numbered}}

    single, pair = ([part(item) for item in text.split()] for text in template)
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": pair,
        "special_tokens": {name: {"id": name, "ids": [i], "tokens": [name]} for name, i in found.items()},
    }


def _texts(names: Any) -> list[Definition]:
    return [Definition(name, is_text=True) for name in names]
