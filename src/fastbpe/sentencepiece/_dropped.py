"""Methods that sentencepiece had before 0.2.3, and their replacements."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_ENCODE = "encode(text, return_type={})"
_NBEST = "nbest_encode(text, return_type={}), only for unigram models"
_SAMPLE = "encode(text, enable_sampling=True, nbest_size=-1, alpha=0.1, return_type={})"
_DECODE = "decode(ids, return_type={})"
_SUBSET = "none; fastbpe.load(FILE).without_tokens(pieces) returns a tokenizer without some pieces"
_SCORES = "none; sentencepiece 0.2.2 was the last version with this method"

# Name in lower case without underscores → what replaces the method.
_REPLACED = {
    "setencodeextraoptions": (
        "keywords of encode or of the constructor: add_bos=True, add_eos=True, reverse=True, emit_unk_piece=True"
    ),
    "setdecodeextraoptions": "decode(ids[::-1]) for the option reverse",
    "setvocabulary": _SUBSET,
    "loadvocabulary": _SUBSET,
    "resetvocabulary": _SUBSET,
    "calculateentropy": _SCORES,
    "init": "the constructor, with the same keywords",
    "overridenormalizerspec": "SentencePieceNormalizer(model_file=FILE), which takes these options",
    "loadfromfile": "SentencePieceNormalizer(model_file=FILE)",
    "loadfromserializedproto": "SentencePieceNormalizer(model_proto=…)",
    "loadfromrulename": "SentencePieceNormalizer(rule_name=…)",
    "loadfromruletsv": "SentencePieceNormalizer(rule_tsv=…)",
    **{
        f"{method}as{kind}": text.format(return_type)
        for method, text in {
            "encode": _ENCODE,
            "nbestencode": _NBEST,
            "sampleencode": _SAMPLE,
            "decodeids": _DECODE,
            "decodepieces": _DECODE,
        }.items()
        for kind, return_type in {"serializedproto": '"serialized_proto"', "immutableproto": '"proto"'}.items()
    },
    **{
        f"sampleencodeandscore{kind}": _SCORES
        for kind in ("", "asids", "aspieces", "asserializedproto", "asimmutableproto")
    },
}


def raise_missing(owner: object, name: str) -> NoReturn:
    """Raise AttributeError for a missing attribute; for a dropped method, the message says what replaces it."""
    message = f"{type(owner).__name__!r} object has no attribute {name!r}"
    replaced = None if name.startswith("_") else _REPLACED.get(name.replace("_", "").lower())
    if replaced is not None:
        message += f": sentencepiece 0.2.3 dropped it; replacement: {replaced}"
    raise AttributeError(message, name=name, obj=owner)
