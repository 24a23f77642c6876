"""Settings of those classes of transformers that build their tokenizer from a vocabulary and merges.

tests/conformance/test_folders_transformers.py compares these settings with transformers 5.24. `class_steps` has
the steps of these and other classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.formats.huggingface import model_types

_END = "<|endoftext|>"
_GPT2_ROLES = dict.fromkeys(("bos", "eos", "unk"), _END)
ROBERTA_ROLES = {
    "bos": "<s>",
    "eos": "</s>",
    "unk": "<unk>",
    "sep": "</s>",
    "pad": "<pad>",
    "cls": "<s>",
    "mask": "<mask>",
}


class Settings(NamedTuple):
    """Settings of a class, which complete or override the files in a vocabulary's folder.

    Attributes:
        roles: role → token, for roles that no file sets; "": none, even if padding in a tokenizer.json names one.
        pattern: name of the split pattern, for a vocabulary in two files; "": spaces are handled as in
            sentencepiece.
        normalizers: normalizers as in a tokenizer.json, for a vocabulary in two files.
        resets_flags: the flags of special tokens in the files are ignored.
        makes_special: tokens that have no role are special, whatever the files say.
        puts_around: the tokens of the roles cls and sep are put around texts.
        processor: members of the RobertaProcessing that puts these tokens, in place of the same members in
            tokenizer_config.json; None: another post-processor, which does not trim offsets.
        has_prompt: the tokens of `whisper_prompt` are put before a text, and eos after it.
        pre_tokenizers: pre-tokenizers as in a tokenizer.json, instead of a pattern.
        prefix_space: a text gets a space at the start if tokenizer_config.json does not set add_prefix_space.
        mask: flags of the token of the role mask, if a file has only its text.
        specific: name of a token in tokenizer_config.json that only this class has → token.
        extra: names in `specific` of tokens that are also special tokens without a role.
        joins_extra: additional_special_tokens are added to extra_special_tokens.
        ignores_null: null as extra_special_tokens means that no file has them.
    """

    roles: Mapping[str, str]
    pattern: str = "gpt2"
    normalizers: tuple[Mapping[str, Any], ...] = ()
    resets_flags: bool = False
    makes_special: bool = False
    puts_around: bool = False
    processor: Mapping[str, bool] | None = None
    has_prompt: bool = False
    pre_tokenizers: tuple[Mapping[str, Any], ...] = ()
    prefix_space: bool = False
    mask: Mapping[str, bool] = {}
    specific: Mapping[str, str] = {}
    extra: tuple[str, ...] = ()
    joins_extra: bool = False
    ignores_null: bool = False


_NFC = ({"type": "NFC"},)
_GPT2 = Settings({**_GPT2_ROLES, "pad": ""})
_ROBERTA = Settings(ROBERTA_ROLES, puts_around=True, processor={})
BERT_ROLES = {"unk": "[UNK]", "sep": "[SEP]", "pad": "[PAD]", "cls": "[CLS]", "mask": "[MASK]"}
DEBERTA_ROLES = {**BERT_ROLES, "bos": "[CLS]", "eos": "[SEP]"}
_QWEN2 = Settings(dict.fromkeys(("eos", "unk", "pad"), _END), "qwen2", _NFC, resets_flags=True)

LUKE = Settings(
    ROBERTA_ROLES,
    puts_around=True,
    processor={"trim_offsets": True, "add_prefix_space": True},
    specific={
        "entity_1_token": "<ent>",
        "entity_2_token": "<ent2>",
        "entity_unk_token": "[UNK]",
        "entity_pad_token": "[PAD]",
        "entity_mask_token": "[MASK]",
        "entity_mask2_token": "[MASK2]",
    },
    extra=("entity_1_token", "entity_2_token"),
    joins_extra=True,
)
# Name without "Tokenizer" and "Fast" → settings.
CLASSES: Mapping[str, Settings] = {
    **dict.fromkeys(("GPT2", "CodeGen"), _GPT2),
    "Whisper": Settings(_GPT2_ROLES, has_prompt=True),
    **dict.fromkeys(("Roberta", "Bart", "Longformer", "LED", "Mvp"), _ROBERTA),
    "Deberta": Settings(DEBERTA_ROLES, puts_around=True),
    "Qwen2": _QWEN2,
    "Qwen3_5": _QWEN2._replace(pattern="qwen35", resets_flags=False),
    "Cohere": Settings(
        {
            "unk": "<UNK>",
            "bos": "<BOS_TOKEN>",
            "eos": "<|END_OF_TURN_TOKEN|>",
            "pad": "<PAD>",
            "cls": "<CLS>",
            "sep": "<SEP>",
            "mask": "<MASK_TOKEN>",
        },
        normalizers=_NFC,
        makes_special=True,
        pre_tokenizers=(
            {"type": "Digits", "individual_digits": True},
            {"type": "ByteLevel", "use_regex": True},
        ),
    ),
    "Blenderbot": Settings(ROBERTA_ROLES, prefix_space=True, mask={"lstrip": True}),
    "Luke": LUKE,
    "GPTNeoX": Settings({**_GPT2_ROLES, "pad": "<|padding|>"}, normalizers=_NFC),
    "Llama": Settings({"bos": "<s>", "eos": "</s>", "unk": "<unk>"}, pattern=""),
}
#: Names that say nothing about a tokenizer's rules.
ANY_CLASS = ("", "PreTrained", model_types.BACKEND, "PythonBackend")
#: Classes that encode texts with a sentencepiece model as sentencepiece does. The classes of Llama, Code Llama and
#: Gemma in transformers 5 differ in runs of spaces: they order merges by id instead of by score.
_AS_SENTENCEPIECE = (*ANY_CLASS, "CodeLlama", "FNet", "Gemma", "Llama", "Parakeet")
_PYTHON_NAMES = (
    "Bartpho BertGeneration BertJapanese Bertweet BioGpt BlenderbotSmall CTRL Clvp Cpm CpmAnt Esm FSMT Flaubert "
    "GPTNeoXJapanese GPTSw3 M2M100 Marian PLBart Phobert RoCBert Siglip Speech2Text Tapas XLM"
)
#: Classes that transformers runs in Python, from files that `folder` looks for: it ignores a tokenizer.json beside
#: these.
IN_PYTHON = tuple(_PYTHON_NAMES.split())
#: Classes without a vocabulary, which have an id for each byte; `byte_folders` has them.
OF_BYTES = ("ByT5", "Dia", "Perceiver")
#: Classes that merge within words, and write @@ after each token but the last of a word: see `subword_folders`.
OF_SUBWORDS = ("Bertweet", "BlenderbotSmall", "CTRL", "Phobert")
#: Classes whose folders fastbpe does not read, or reads only if certain files are there → what the class does.
_REASONS: Mapping[str, str] = {
    "Bartpho": "it takes ids from dict.txt",
    "BertJapanese": "it finds words with MeCab, Sudachi or Juman++",
    "MyT5": "it needs no vocabulary: each byte is an id",
    "Canine": "its ids are code points, without a vocabulary",
    **dict.fromkeys(
        ("BioGpt", "FSMT", "Flaubert", "XLM"), "it finds words with sacremoses, by rules of languages in Python"
    ),
    **dict.fromkeys(("Cpm", "CpmAnt"), "it finds words with rjieba"),
    **dict.fromkeys(("Mgpstr", "Vits", "Wav2Vec2CTC"), "its tokens are characters"),
    **dict.fromkeys(("FastSpeech2Conformer", "Wav2Vec2PhonemeCTC"), "its tokens are phonemes"),
    "Clvp": "it writes numbers and abbreviations as English words, by functions of Python",
    "GPTNeoXJapanese": "it matches the longest entry of a list that gives several spellings one id",
    "ProphetNet": "it reads prophetnet.tokenizer, and finds words with functions of Python",
    "RoCBert": "it also takes shapes and pronunciations of characters",
    "RoFormer": "it finds Chinese words with rjieba",
    "Siglip": "it removes punctuation, and encodes a text after the unknown token",
    "Tapas": "it encodes a question with a table",
    "XGLM": "it ignores this model",
}
#: What a user can do with the files of a class that fastbpe does not support.
WAY_OUT = (
    "load the tokenizer.json that AutoTokenizer.from_pretrained(folder).save_pretrained(other) writes, or encode "
    "with transformers if it writes none"
)
#: What a user can do with the files of such a class if transformers runs it in Python.
WAY_OUT_OF_PYTHON = "encode with transformers, whose class writes no tokenizer.json"


def reason(name: str) -> str:
    """Return " (REASON)" for a class that fastbpe does not support; "" if the reason is not known."""
    return f" ({_REASONS[name]})" if name in _REASONS else ""


def way_out(name: str) -> str:
    """Return what a user can do with the files of a class that fastbpe does not support."""
    return WAY_OUT_OF_PYTHON if name in IN_PYTHON else WAY_OUT


def has_own_pieces(name: str) -> bool:
    """Tell whether a class of transformers gives other ids than the sentencepiece model of its folder."""
    return (model_types.is_class(name) or name in CLASSES) and name not in _AS_SENTENCEPIECE


def takes_two_files(name: str) -> bool:
    """Tell whether a class takes a vocabulary and merges, whatever else the folder contains."""
    return name in CLASSES and bool(CLASSES[name].pattern)


def class_of(tokenizer_config: Mapping[str, Any], model_config: Mapping[str, Any]) -> str:
    """Return the class that transformers creates for a folder, without "Tokenizer"; "": the files name none.

    Args:
        tokenizer_config: content of tokenizer_config.json.
        model_config: content of config.json. The class for its model_type is used if no file names a class, if
            this class is `model_types.BACKEND`, or if `model_types.corrects` says so.
    """
    model_type = model_config.get("model_type")
    by_type = model_types.class_of(model_type) or ""
    named = _named(tokenizer_config, model_config)
    if by_type == model_types.BACKEND or model_types.corrects(model_type):
        return by_type
    return named or by_type


def class_of_parts(tokenizer_config: Mapping[str, Any], model_config: Mapping[str, Any]) -> str:
    """Return the class for a folder without a tokenizer.json, as `class_of` does.

    If that is the class that takes a tokenizer.json as it is, return the class that the files name: only this one
    has rules for other files.
    """
    found = class_of(tokenizer_config, model_config)
    return _named(tokenizer_config, model_config) if found == model_types.BACKEND else found


def _named(tokenizer_config: Mapping[str, Any], model_config: Mapping[str, Any]) -> str:
    return plain_name(tokenizer_config.get("tokenizer_class") or model_config.get("tokenizer_class"))


def pattern_of_ranks(tokenizer_config: Mapping[str, Any]) -> str | None:
    """Return the name of the split pattern for a tiktoken.model; None if fastbpe does not know the class.

    tokenizer_config: content of the tokenizer_config.json in its folder.

    Moonlight and Kimi name their class TikTokenTokenizer, in tokenization_moonshot.py or tokenization_kimi.py.
    """
    return "kimi" if plain_name(tokenizer_config.get("tokenizer_class")) == "TikToken" else None


def plain_name(name: object) -> str:
    """Return the name of a class without "Tokenizer" and "Fast"; "" if there is no name."""
    return name.removesuffix("Fast").removesuffix("Tokenizer") if isinstance(name, str) else ""
