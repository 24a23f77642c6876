"""GGUF files of the kind "bert": WordPiece, as in BERT.

In such a file, a token that begins a word has a U+2581 before it, and the others lack BERT's "##". This module
turns the file into a tokenizer.json of BERT, which `read_segmented` reads. Words may have any length, as in
llama.cpp.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from fastbpe.errors import FormatError
from fastbpe.formats.gguf.keys import ROLES, Keys, added_tokens
from fastbpe.formats.huggingface import read_segmented, templates
from fastbpe.formats.huggingface.class_steps import bert_normalizer
from fastbpe.formats.huggingface.write import document
from fastbpe.model import METASPACE, PAIR, TEXT, Model, PieceType, Templates

KIND = "bert"
CONTINUES = "##"  # before a token that continues a word
_LONGEST = (1 << 63) - 1  # characters of a word; the greatest limit that `read_segmented` accepts
_ROLES = {"bos": 101, "unk": 100, "sep": 102, "pad": 0, "mask": 103}  # ids that a file need not name
_PRE_TOKENIZER = {"type": "BertPreTokenizer"}
_DECODER = {"type": "WordPiece", "prefix": CONTINUES, "cleanup": True}


def read(keys: Keys, special_tokens: Mapping[str, int] | None) -> Model:
    """Create the model of a file. Raises FormatError if it is damaged, or if bos, unk or sep has no valid id."""
    listed = keys.items("tokens", bytes, None)
    types = keys.types(len(listed))
    keys.check_bytes(listed, types)
    texts = [spelled(keys.decoded("tokens", token), kind) for token, kind in zip(listed, types, strict=True)]
    vocabulary: dict[str, int] = {}
    for i, text in enumerate(texts):
        if vocabulary.setdefault(text, i) != i:
            keys.fail(
                "tokens", f"the ids {vocabulary[text]} and {i} are both the token {text!r:.80} in BERT's spelling"
            )
    roles = keys.role_ids(len(texts), _ROLES)
    for role in ("bos", "unk", "sep"):
        if role not in roles:
            keys.fail(ROLES[role], f"expected the id of the {role} token, from 0 to {len(texts) - 1}")
    bos, sep = roles["bos"], roles["sep"]
    lowers = keys.flag("normalizer.lowercase", True)
    described = document(
        added_tokens=added_tokens(texts, types),
        normalizer=bert_normalizer(strip_accents=keys.flag("normalizer.strip_accents", lowers), lowercase=lowers),
        pre_tokenizer=_PRE_TOKENIZER,
        post_processor=templates.describe(Templates((bos, TEXT, sep), (bos, TEXT, sep, PAIR, sep)), texts),
        decoder=_DECODER,
        type="WordPiece",
        unk_token=texts[roles["unk"]],
        continuing_subword_prefix=CONTINUES,
        max_input_chars_per_word=_LONGEST,
        vocab=vocabulary,
    )
    model = read_segmented.parse(json.dumps(described).encode(), keys.where, special_tokens=special_tokens)
    assert model is not None
    if "cls" not in roles:
        roles["cls"] = bos  # llama.cpp calls it bos
    del roles["bos"]
    return model._replace(roles={role: texts[token_id] for role, token_id in roles.items()})


def spelled(text: str, kind: int) -> str:
    """Return a token in BERT's spelling. text: in llama.cpp's spelling; kind: its PieceType."""
    if text.startswith(METASPACE):
        return text[len(METASPACE) :] or text  # U+2581 alone stays, since a token needs a text
    is_name = kind != PieceType.NORMAL or not text or _is_bracketed(text)
    return text if is_name else CONTINUES + text


def marked(token: str) -> str:
    """Return a token in llama.cpp's spelling: the inverse of `spelled`, except for "##" and "##[x]"."""
    if token.startswith(CONTINUES):
        return token[len(CONTINUES) :]
    return token if _is_bracketed(token) else METASPACE + token


def _is_bracketed(text: str) -> bool:
    return text.startswith("[") and text.endswith("]")


def settings_of(model: Model) -> tuple[bool, bool]:
    """Return (whether a BERT model lowercases, whether it strips accents).

    Raises FormatError if its steps differ from llama.cpp's.
    """
    steps = [*model.normalizers, *model.pre_tokenizers]
    kinds = [step["type"] for step in steps]
    prefix = "" if model.spelling is None else model.spelling.prefix
    if kinds != ["BertNormalizer", "BertPreTokenizer"]:
        found = f"the steps {', '.join(kinds) or 'none'}"
    elif prefix != CONTINUES:
        found = f"the prefix {prefix!r:.40}"
    else:
        lowers, strips = bool(steps[0].get("lowercase")), steps[0].get("strip_accents")
        expected = bert_normalizer(strip_accents=strips, lowercase=lowers)
        if steps == [expected, _PRE_TOKENIZER]:
            return lowers, lowers if strips is None else bool(strips)
        wrong = (name for name, value in expected.items() if steps[0].get(name) != value)
        found = ", ".join(f"{name}={steps[0].get(name)}" for name in wrong)
    raise FormatError(
        "a GGUF file can store WordPiece only with the steps of BERT (BertNormalizer with clean_text and "
        f"handle_chinese_chars, BertPreTokenizer, the prefix {CONTINUES!r}), but this tokenizer has {found}; "
        "export this tokenizer as native or huggingface"
    )
