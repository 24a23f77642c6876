"""Folders of M2M100, Marian and Speech2Text: a sentencepiece model, and a vocab.json with the ids of its pieces.

Instead of a vocab.json, BARTpho has a dict.txt with the pieces in the order of ids. SigLIP, SpeechT5,
BertGeneration and PLBART have only a model, but the same rules for added tokens and white space. PLBART moves the
ids of the pieces by one, as fairseq does.

transformers runs these classes in Python: it looks for special tokens in the original text, lets sentencepiece cut
the text between them, and looks up each piece in vocab.json. A piece that vocab.json lacks becomes the unknown
token. tests/conformance/test_table_folders.py and test_siglip_folders.py compare folders with transformers 5.24.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.formats.atomic_files import map_file
from fastbpe.formats.huggingface import python_backend, tokenizer_config
from fastbpe.formats.huggingface.class_settings import ROBERTA_ROLES
from fastbpe.formats.huggingface.named_tokens import CONFIG, Definition, NamedTokens
from fastbpe.formats.sentencepiece import model_file, specs
from fastbpe.model import (
    METASPACE,
    PAIR,
    TEXT,
    AddedToken,
    CodePointModel,
    Conventions,
    Model,
    PieceType,
    pack_pieces,
)

_VOCABULARY, _DICTIONARY = "vocab.json", "dict.txt"
_FIRST = ("bos", "pad", "eos", "unk", "sep", "cls")  # roles of the tokens before the tokens of dict.txt
_FAIRSEQ = ("<s>", "<pad>", "</s>", "<unk>")  # in PLBART, they take the places of the first three pieces
_MASK = "<mask>"
_ROLES = {"bos": "<s>", "eos": "</s>", "pad": "<pad>", "unk": "<unk>"}


class _Kind(NamedTuple):
    """Class of transformers whose folders this module reads.

    Attributes:
        roles: role → its token if no file names one.
        files: files that the folder must have; the first one is the sentencepiece model that encodes.
    """

    roles: Mapping[str, str]
    files: tuple[str, ...]


#: Name without "Tokenizer" → class.
CLASSES: Mapping[str, _Kind] = {
    "M2M100": _Kind(
        {"bos": "<s>", "eos": "</s>", "unk": "<unk>", "sep": "</s>", "pad": "<pad>"},
        ("sentencepiece.bpe.model", _VOCABULARY),
    ),
    "Marian": _Kind({"eos": "</s>", "unk": "<unk>", "pad": "<pad>"}, ("source.spm", "target.spm", _VOCABULARY)),
    "Speech2Text": _Kind(_ROLES, ("sentencepiece.bpe.model", _VOCABULARY)),
    "Bartpho": _Kind(ROBERTA_ROLES, ("sentencepiece.bpe.model", _DICTIONARY)),
    "Siglip": _Kind({"eos": "</s>", "unk": "<unk>", "pad": "</s>"}, ("spiece.model",)),  # the model gives the ids
    "SpeechT5": _Kind(_ROLES, ("spm_char.model",)),  # the model gives the ids
    "PLBart": _Kind(ROBERTA_ROLES, ("sentencepiece.bpe.model",)),
    "BertGeneration": _Kind({**_ROLES, "sep": "<::::>"}, ("spiece.model",)),  # the model gives the ids
}
_M2M100 = (
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht "
    "hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl "
    "ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu"
)
_PROGRAMS = ("java", "python", "en_XX", "javascript", "php", "ruby", "go")
#: Class → language_codes → codes of languages; the first language_codes is the default.
_LANGUAGES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "M2M100": {"m2m100": tuple(_M2M100.split()), "wmt21": ("en", "ha", "is", "ja", "cs", "ru", "zh", "de")},
    "PLBart": {"base": _PROGRAMS[:3], "multi": _PROGRAMS},
}


def finds(folder: str, class_name: str) -> bool:
    """Tell whether a folder has the files of a class of this module.

    `backend_folders` reads a model of BertGeneration that a table cannot describe.
    """
    paths = [os.path.join(folder, name) for name in CLASSES[class_name].files]
    if not all(map(os.path.isfile, paths)):
        return False
    return class_name != "BertGeneration" or not _unsupported(model_file.parse(map_file(paths[0]), paths[0]))


def read(
    folder: str, config: Mapping[str, Any], class_name: str, special_tokens: Mapping[str, int] | None = None
) -> Model | CodePointModel:
    """Read the model of a folder. Requires: finds(folder, class_name).

    special_tokens: must be None: the class has its own.

    Raises:
        FormatError: a damaged file, or one that the class cannot read, or that fastbpe cannot express.
    """
    made = _Folder(folder, config, class_name)
    python_backend.refuse_special_tokens(special_tokens, made.where)
    return tokenizer_config.with_own_tokens(made.model(), folder, made.named, is_bare=False)


def _unsupported(model: CodePointModel) -> str:
    """Return the name of a part of a model that a table cannot describe; "": a table can describe all of it."""
    parts = {
        "byte fallback": model.trainer["byte_fallback"],
        "user-defined pieces": PieceType.USER_DEFINED in model.types,
        "unused pieces": PieceType.UNUSED in model.types,
        "spaces that are not U+2581": not model.normalizer["escape_whitespaces"],
        "treat_whitespace_as_suffix": model.trainer["treat_whitespace_as_suffix"],
        "rules for decoded text": model.denormalizer and model.denormalizer["precompiled_charsmap"],
    }
    return next((what for what, is_there in parts.items() if is_there), "")


class _Folder:
    """A model in the making.

    Attributes:
        where: path of the `.model`, for errors.
        named: tokens that the other files of the folder name.
    """

    def __init__(self, folder: str, config: Mapping[str, Any], class_name: str) -> None:
        kind = CLASSES[class_name]
        self.where = os.path.join(folder, kind.files[0])
        self._fail = python_backend.failing(self.where)
        self._config, self._class_name, self._table = config, class_name, kind.files[-1]
        self.named: NamedTokens = python_backend.read_named(folder, kind.roles)
        self._pieces = self._read_pieces()
        pieces = [piece.decode("utf-8", "surrogateescape") for piece in self._pieces.pieces]
        if _VOCABULARY in kind.files:
            self._vocab = python_backend.read_vocabulary(os.path.join(folder, _VOCABULARY))
        elif _DICTIONARY in kind.files:
            self._vocab = self._read_dictionary(os.path.join(folder, _DICTIONARY))
            self._check_places()
        elif class_name == "PLBart":
            self._vocab = self._moved(pieces)
            self.named = self._with_places(pieces)
        else:
            self._vocab = {piece: i for i, piece in enumerate(pieces)}

    def _read_dictionary(self, path: str) -> dict[str, int]:
        """Return token → id: the tokens of roles in _FIRST, then the tokens of dict.txt.

        The mask token comes last if dict.txt lacks it.
        """
        roles = self.named.roles
        if missing := [role for role in (*_FIRST, "mask") if role not in roles]:
            self._fail(f"the class {self._class_name}Tokenizer needs a {missing[0]}_token")
        first = (roles[role] for role in _FIRST)
        found = python_backend.read_dictionary(path, first, lambda line: "".join(line.split()[:1]))
        found.setdefault(roles["mask"], len(found))
        return found

    def _check_places(self) -> None:
        """Raise FormatError for tokens that the class of BARTpho loses, or that dict.txt lacks.

        The class first numbers tokens by the `.model`, then moves each token of dict.txt to its id there. If an
        old id equals an id of added_tokens_decoder, one token overwrites the other.
        """
        known = {token.content for token in self.named.decoder.values()}
        following = len({*self._vocab, *known})
        named = (*self.named.named.values(), *self.named.extra)
        for content in dict.fromkeys(token.content for token in named if token.content not in known):
            if content not in self._vocab:
                self._fail(f"{_DICTIONARY} lacks the token {content!r:.60}")
            place = self._pieces.ids.get(content.encode("utf-8", "surrogatepass"), following)
            following += place == following
            if place in self.named.decoder:
                self._fail(f"the token {content!r:.60} would share the id {place} with another token")

    def _moved(self, pieces: list[str]) -> dict[str, int]:
        """Return token → id of PLBART. The mask token has an id of its own only if language_codes is "base"."""
        if pieces[:3] != ["<unk>", "<s>", "</s>"]:
            self._fail("the first pieces must be <unk>, <s> and </s>, because the class moves them to other ids")
        own = (*_FAIRSEQ, *self._languages(), _MASK)
        if twice := next((name for name in own if name in pieces[3:]), None):
            self._fail(f"the piece {twice} is also a token of the class, with another id")
        is_base = self._config.get("language_codes", "base") == "base"
        names = [*_FAIRSEQ, *pieces[3:], *own[4 : None if is_base else -1]]
        return {name: i for i, name in enumerate(names)}

    def _with_places(self, pieces: list[str]) -> NamedTokens:
        """Return the tokens that the files name, with their ids in PLBART.

        The class first numbers all special tokens, then moves its own ones to other ids.
        """
        named, languages = self.named, self._languages()
        if not named.has_extra:
            others = [token for token in named.extra if token.content not in languages]
            named = named._replace(extra=[*(Definition(name, is_text=True) for name in languages), *others])
        moved = {*_FAIRSEQ, *languages, _MASK}
        special = dict.fromkeys(token.content for token in (*named.named.values(), *named.extra) if token.content)
        known = {token.content for token in named.decoder.values()}
        for content in sorted((known & moved) - special.keys()):
            self._fail(f"the token {content} has an id in the files, but is not a special token")
        decoder = {i: token for i, token in named.decoder.items() if token.content not in moved}
        ids, following = {piece: i for i, piece in enumerate(pieces)}, len({*_FAIRSEQ, *pieces, *known})
        for content in (content for content in special if content not in known):
            place = ids.get(content, following)
            following += place == following
            if content not in moved and decoder.setdefault(place, Definition(content)).content != content:
                self._fail(f"the token {content!r:.60} would share the id {place} with another token")
        return named._replace(decoder=decoder)

    def _read_pieces(self) -> CodePointModel:
        """Read the `.model`. Raises FormatError if it has an option that this module does not support."""
        if self._config.get("separate_vocabs"):
            self._fail("with separate_vocabs, input texts and the model's output have different vocabularies")
        if self._class_name == "Speech2Text" and self._config.get("lang_codes"):
            self._fail("with lang_codes, the class takes ids of the .model for languages")
        if self._class_name == "Speech2Text" and self._config.get("do_upper_case"):
            self._fail("with do_upper_case, the class decodes to upper case")
        if self._class_name == "SpeechT5" and self._config.get("normalize"):
            self._fail("with normalize, the class writes numbers as words before the .model encodes a text")
        is_legacy = self._config.get("legacy", True)
        if self._class_name in ("Bartpho", "BertGeneration", "PLBart", "Siglip", "SpeechT5") and not is_legacy:
            self._fail("with legacy=false in tokenizer_config.json, the class changes the options of the .model")
        if self._config.get("sp_model_kwargs"):
            self._fail("sp_model_kwargs in tokenizer_config.json may make ids random")
        model = model_file.parse(map_file(self.where), self.where)
        if what := _unsupported(model):
            self._fail(f"a model with {what} is not supported for the class {self._class_name}Tokenizer")
        return model

    def _languages(self) -> list[str]:
        """Return the tokens of the class's languages; [] for most classes."""
        lists = _LANGUAGES.get(self._class_name, {"": ()})
        value = self._config.get("language_codes", next(iter(lists))) if self._class_name in _LANGUAGES else ""
        if not isinstance(value, str) or value not in lists:
            self._fail(f"{CONFIG} has language_codes {value!r:.40}, but transformers knows {', '.join(lists)}")
        return [f"__{code}__" for code in lists[value]]

    def model(self) -> CodePointModel:
        """Return the model: the pieces of the `.model` under the ids of the table, then the added tokens."""
        pieces = dict(  # text → (score, type in the `.model`)
            zip(
                (piece.decode("utf-8", "surrogateescape") for piece in self._pieces.pieces),
                zip(array("f", self._pieces.scores), self._pieces.types, strict=True),
                strict=True,
            )
        )
        unknown = self.named.roles.get("unk")
        if unknown is None:
            self._fail(f"the class {self._class_name}Tokenizer needs an unk_token")
        if unknown not in self._vocab:
            self._fail(f"{self._table} lacks the unk_token {unknown!r:.60}")
        lacks_mask = self._class_name == "PLBart" and _MASK not in self._vocab
        added = python_backend.added_tokens(
            self.named,
            self._vocab,
            self._fail,
            may_strip=self._class_name != "PLBart",  # PLBART may assign an id twice, and lose its token's flags
            shared={_MASK: self._vocab[unknown]} if lacks_mask else None,
        )
        if self._class_name == "Siglip":
            self._check_siglip(added)
        rows = [*self._vocab]
        languages = [] if self._class_name == "PLBart" else self._languages()
        for i, name in enumerate(languages, len(rows)):
            if self._vocab.get(name, i) != i or any((token.content == name) != (token.id == i) for token in added):
                self._fail(f"the token {name!r} of a language must have the id {i}, and no other token may")
        rows = python_backend.with_added([*rows, *languages], added, self._fail)
        types = dict.fromkeys(languages, PieceType.USER_DEFINED)
        for token in added:
            types[token.content] = PieceType.CONTROL if token.special else PieceType.USER_DEFINED
        kept = (PieceType.NORMAL, PieceType.CONTROL)
        types |= {name: type_ for name, (_, type_) in pieces.items() if type_ in kept}
        types[unknown] = PieceType.UNKNOWN
        piece_bytes, piece_ends = pack_pieces(name.encode("utf-8", "surrogateescape") for name in rows)
        ids = {name: i for i, name in enumerate(rows)}
        before, behind = self._around(ids)
        # Pairs: BARTpho's <s> A </s></s> B </s>; SigLIP's A </s> B </s>; the other classes' A B </s>.
        n_between = {"Bartpho": 2, "Siglip": 1}.get(self._class_name, 0)
        return self._pieces._replace(
            piece_bytes=piece_bytes,
            piece_ends=piece_ends,
            scores=array("f", [pieces[name][0] if name in pieces else 0.0 for name in rows]).tobytes(),
            types=bytes(types.get(name, PieceType.UNUSED) for name in rows),  # UNUSED: no text becomes it
            trainer=specs.make(
                specs.TRAINER,
                {
                    "model_type": self._pieces.trainer["model_type"],
                    "vocab_size": len(rows),
                    "unk_piece": unknown,
                    "unk_id": ids[unknown],
                    "bos_id": -1,
                    "eos_id": -1,
                    "pad_id": -1,
                },
            ),
            piece_extras={},
            serialized=b"",
            added_tokens=added,
            template=(before, behind),
            pair_template=(*before, TEXT, *behind * n_between, PAIR, *behind),
            conventions=Conventions(decoder=self._class_name),
            unnumbered=[
                (name, score)
                for name, (score, type_) in pieces.items()
                if type_ == PieceType.NORMAL and name not in self._vocab
            ],
        )

    def _check_siglip(self, added: Sequence[AddedToken]) -> None:
        """Raise FormatError for options and tokens with which SigLIP's class changes texts as fastbpe does not."""
        if not self._config.get("do_lower_case", True):
            self._fail("without do_lower_case, the class does not make texts lower case")
        if not self._pieces.normalizer["remove_extra_whitespaces"]:
            self._fail("a model that keeps spaces at the ends is not supported for the class SiglipTokenizer")
        unknown = self.named.roles["unk"]
        if self._pieces.types[self._vocab[unknown]] != PieceType.UNKNOWN:
            self._fail(f"the unk_token {unknown!r:.60} is not the unknown piece of the .model")
        for token in added:
            if METASPACE in token.content or any(map(str.isspace, token.content)):
                self._fail(f"the token {token.content!r:.60} contains white space, or U+2581")

    def _around(self, ids: Mapping[str, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the ids before and after a text."""
        if self._class_name == "BertGeneration":
            return (), ()
        if self._class_name == "Bartpho":
            return (ids[self.named.roles["cls"]],), (ids[self.named.roles["sep"]],)
        eos = self.named.roles.get("eos", "")
        if eos not in ids:
            self._fail(
                f"the class {self._class_name}Tokenizer puts the eos_token after texts, but a file sets it to "
                "null or an empty text"
            )
        languages, language = self._languages(), self._config.get("src_lang")
        if language is None:
            is_multi = len(languages) == len(_PROGRAMS)  # with "base", PLBART puts no language after texts
            language = "en" if self._class_name == "M2M100" else "en_XX" if is_multi else None
        if language is None or not languages:
            return (), (ids[eos],)
        token = language if self._class_name == "PLBart" and language in languages else f"__{language}__"
        if token not in languages:
            self._fail(f"{CONFIG} has src_lang {language!r:.40}, which is not a language of the class")
        return ((ids[token],), (ids[eos],)) if self._class_name == "M2M100" else ((), (ids[eos], ids[token]))
