"""Folders of M2M100, Marian and Speech2Text: a unigram `.model`, and a vocab.json with the ids of its pieces.

BARTpho has a dict.txt instead, with the pieces by id. SigLIP and SpeechT5, the latter of type char, have only a
`.model`, but the same rules for added tokens and white space.

transformers runs these classes in Python: it looks for special tokens in the original text, lets sentencepiece cut
the text between them, and looks up each piece in vocab.json. A piece that vocab.json lacks becomes the unknown
token. tests/conformance/test_table_folders.py and test_siglip_folders.py compare folders with transformers 5.24.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.errors import FormatError
from fastbpe.formats.atomic_files import map_file
from fastbpe.formats.huggingface import class_settings, named_tokens, python_backend, tokenizer_config
from fastbpe.formats.huggingface.class_settings import ROBERTA_ROLES, Settings
from fastbpe.formats.huggingface.named_tokens import CONFIG, NamedTokens
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
_FIRST = ("bos", "pad", "eos", "unk", "sep", "cls")  # roles of the tokens before those of dict.txt
_ROLES = {"bos": "<s>", "eos": "</s>", "pad": "<pad>", "unk": "<unk>"}


class _Kind(NamedTuple):
    """Class that reads such a folder.

    Attributes:
        roles: role → token that no file names.
        files: files that the folder must have; the first one encodes.
        model_type: type of the `.model`.
    """

    roles: Mapping[str, str]
    files: tuple[str, ...]
    model_type: str = "unigram"


#: Name without "Tokenizer" → class.
CLASSES: Mapping[str, _Kind] = {
    "M2M100": _Kind(
        {"bos": "<s>", "eos": "</s>", "unk": "<unk>", "sep": "</s>", "pad": "<pad>"},
        ("sentencepiece.bpe.model", _VOCABULARY),
    ),
    "Marian": _Kind({"eos": "</s>", "unk": "<unk>", "pad": "<pad>"}, ("source.spm", "target.spm", _VOCABULARY)),
    "Speech2Text": _Kind(_ROLES, ("sentencepiece.bpe.model", _VOCABULARY)),
    "Bartpho": _Kind(ROBERTA_ROLES, ("sentencepiece.bpe.model", _DICTIONARY)),
    "Siglip": _Kind({"eos": "</s>", "unk": "<unk>", "pad": "</s>"}, ("spiece.model",)),  # as for SpeechT5
    "SpeechT5": _Kind(_ROLES, ("spm_char.model",), "char"),  # the model itself gives the ids
}
_M2M100 = (
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht "
    "hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl "
    "ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu"
)
_LANGUAGES = {"m2m100": tuple(_M2M100.split()), "wmt21": ("en", "ha", "is", "ja", "cs", "ru", "zh", "de")}


def finds(folder: str, class_name: str) -> bool:
    """Tell whether a folder has the files of a class of this module."""
    names = CLASSES[class_name].files if class_name in CLASSES else ()
    return bool(names) and all(os.path.isfile(os.path.join(folder, name)) for name in names)


def read(
    folder: str, config: Mapping[str, Any], class_name: str, special_tokens: Mapping[str, int] | None = None
) -> Model | CodePointModel:
    """Read the model of a folder. Requires: `finds` it.

    Args:
        folder: the folder.
        config: content of its tokenizer_config.json.
        class_name: one of CLASSES.
        special_tokens: must be None: the class has its own.

    Raises:
        FormatError: a damaged file, or one that the class cannot read, or that fastbpe cannot express.
        OSError: the file cannot be read.
    """
    made = _Folder(folder, config, class_name)
    python_backend.refuse_special_tokens(special_tokens, made.where)
    return tokenizer_config.with_own_tokens(made.model(), folder, made.named, is_bare=False)


class _Folder:
    """A model in the making.

    Attributes:
        where: path of the `.model`, for errors.
        named: tokens that the other files of the folder name.
    """

    def __init__(self, folder: str, config: Mapping[str, Any], class_name: str) -> None:
        kind = CLASSES[class_name]
        self.where = os.path.join(folder, kind.files[0])
        self._config, self._class_name, self._table = config, class_name, kind.files[-1]
        self.named: NamedTokens = named_tokens.read(folder, Settings(kind.roles))
        self._pieces = self._read_pieces(kind.model_type)
        if _VOCABULARY in kind.files:
            self._vocab = python_backend.read_vocabulary(os.path.join(folder, _VOCABULARY))
        elif _DICTIONARY in kind.files:
            self._vocab = self._read_dictionary(os.path.join(folder, _DICTIONARY))
            self._check_places()
        else:
            self._vocab = {
                piece.decode("utf-8", "surrogateescape"): i for i, piece in enumerate(self._pieces.pieces)
            }

    def _fail(self, what: str) -> NoReturn:
        raise FormatError(f"{self.where}: {what}; {class_settings.WAY_OUT}")

    def _read_dictionary(self, path: str) -> dict[str, int]:
        """Read dict.txt: the tokens in the order of their ids; tokens of roles come first, the mask token last."""
        roles = self.named.roles
        if missing := [role for role in (*_FIRST, "mask") if role not in roles]:
            self._fail(f"the class {self._class_name}Tokenizer needs a {missing[0]}_token")
        first = (roles[role] for role in _FIRST)
        found = python_backend.read_dictionary(path, first, lambda line: "".join(line.split()[:1]))
        found.setdefault(roles["mask"], len(found))
        return found

    def _check_places(self) -> None:
        """Raise FormatError for tokens that the class of BARTpho loses.

        It first numbers tokens by the `.model`, then moves each one in dict.txt to its id there. If an old id
        equals an id of added_tokens_decoder, one token overwrites the other.
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

    def _read_pieces(self, model_type: str) -> CodePointModel:
        """Read the `.model`. Raises FormatError if it has an option that this module does not support."""
        if self._config.get("separate_vocabs"):
            self._fail(
                "with separate_vocabs, the ids of texts and those of the model's output are two vocabularies"
            )
        if self._class_name == "Speech2Text" and self._config.get("lang_codes"):
            self._fail("with lang_codes, the class takes ids of the .model for languages")
        if self._class_name == "Speech2Text" and self._config.get("do_upper_case"):
            self._fail("with do_upper_case, the class decodes to upper case")
        if self._class_name == "SpeechT5" and self._config.get("normalize"):
            self._fail("with normalize, the class writes numbers as words before the .model encodes a text")
        if self._class_name in ("Bartpho", "Siglip", "SpeechT5") and not self._config.get("legacy", True):
            self._fail("without legacy, the class changes the options of the .model")
        if self._config.get("sp_model_kwargs"):
            self._fail("sp_model_kwargs in tokenizer_config.json may make its ids random")
        model = model_file.parse(map_file(self.where), self.where)
        if not isinstance(model, CodePointModel) or model.trainer["model_type"] != model_type:
            self._fail(f"the class {self._class_name}Tokenizer is supported for models of type {model_type} only")
        odd = (
            ("byte fallback", model.trainer["byte_fallback"]),
            ("user-defined pieces", PieceType.USER_DEFINED in model.types),
            ("spaces that are not U+2581", not model.normalizer["escape_whitespaces"]),
            ("treat_whitespace_as_suffix", model.trainer["treat_whitespace_as_suffix"]),
            ("rules for decoded text", model.denormalizer and model.denormalizer["precompiled_charsmap"]),
        )
        for what, is_odd in odd:
            if is_odd:
                self._fail(f"a model with {what} is not supported for the class {self._class_name}Tokenizer")
        return model

    def _codes(self) -> tuple[str, ...]:
        """Return the codes of M2M100's languages; none for another class."""
        if self._class_name != "M2M100":
            return ()
        value = self._config.get("language_codes", "m2m100")
        if not isinstance(value, str) or value not in _LANGUAGES:
            self._fail(
                f"{CONFIG} has language_codes {value!r:.40}, but transformers knows {', '.join(_LANGUAGES)}"
            )
        return _LANGUAGES[value]

    def model(self) -> CodePointModel:
        pieces = dict(
            zip(
                (piece.decode("utf-8", "surrogateescape") for piece in self._pieces.pieces),
                zip(array("f", self._pieces.scores), self._pieces.types, strict=True),
                strict=True,
            )
        )
        is_siglip = self._class_name == "Siglip"
        added = python_backend.added_tokens(self.named, self._vocab, self._fail, may_strip=is_siglip)
        if is_siglip:
            self._check_siglip(added)
        rows = [*self._vocab]
        languages = [f"__{code}__" for code in self._codes()]
        for i, name in enumerate(languages, len(rows)):
            if self._vocab.get(name, i) != i or any((token.content == name) != (token.id == i) for token in added):
                self._fail(f"the token {name!r} of a language must have the id {i}, and no other token")
        rows = python_backend.with_added([*rows, *languages], added, self._fail)
        unknown = self.named.roles.get("unk")
        if unknown is None:
            self._fail(f"the class {self._class_name}Tokenizer needs an unk_token")
        if unknown not in self._vocab:
            self._fail(f"{self._table} lacks the unk_token {unknown!r:.60}")
        kinds = dict.fromkeys(languages, PieceType.USER_DEFINED)
        for token in added:
            kinds[token.content] = PieceType.CONTROL if token.special else PieceType.USER_DEFINED
        found = (PieceType.NORMAL, PieceType.CONTROL)
        kinds |= {name: kind for name, (_, kind) in pieces.items() if kind in found}
        kinds[unknown] = PieceType.UNKNOWN
        piece_bytes, piece_ends = pack_pieces(name.encode("utf-8", "surrogateescape") for name in rows)
        ids = {name: i for i, name in enumerate(rows)}
        before, behind = self._around(ids)
        # Pairs: BARTpho's <s> A </s></s> B </s>; SigLIP's A </s> B </s>; A B </s> of the others.
        n_between = {"Bartpho": 2, "Siglip": 1}.get(self._class_name, 0)
        return self._pieces._replace(
            piece_bytes=piece_bytes,
            piece_ends=piece_ends,
            scores=array("f", [pieces[name][0] if name in pieces else 0.0 for name in rows]).tobytes(),
            types=bytes(kinds.get(name, PieceType.UNUSED) for name in rows),
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
                for name, (score, kind) in pieces.items()
                if kind == PieceType.NORMAL and name not in self._vocab
            ],
        )

    def _check_siglip(self, added: Sequence[AddedToken]) -> None:
        """Raise FormatError for options and tokens with which SigLIP's class changes texts in another way."""
        if not self._config.get("do_lower_case", True):
            self._fail("without do_lower_case, the class does not make texts lower case")
        if not self._pieces.normalizer["remove_extra_whitespaces"]:
            self._fail("a model that keeps spaces at the ends is not supported for the class SiglipTokenizer")
        unknown = self._vocab.get(self.named.roles.get("unk", ""), -1)
        if unknown >= 0 and self._pieces.types[unknown] != PieceType.UNKNOWN:
            self._fail(f"the unk_token {self.named.roles['unk']!r:.60} is not the unknown piece of the .model")
        for token in added:
            if METASPACE in token.content or any(map(str.isspace, token.content)):
                self._fail(f"the token {token.content!r:.60} contains white space, or U+2581")

    def _around(self, ids: Mapping[str, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the ids before and after a text."""
        if self._class_name == "Bartpho":
            return (ids[self.named.roles["cls"]],), (ids[self.named.roles["sep"]],)
        eos = self.named.roles.get("eos", "")
        if eos not in ids:
            self._fail(
                f"the class {self._class_name}Tokenizer puts the eos_token after texts, but {CONFIG} lacks it"
            )
        if self._class_name != "M2M100":
            return (), (ids[eos],)
        language = self._config.get("src_lang")
        codes = self._codes()
        language = "en" if language is None else language
        if language not in codes:
            self._fail(f"{CONFIG} has src_lang {language!r:.40}, which is not a language of the class")
        return (len(self._vocab) + codes.index(language),), (ids[eos],)
