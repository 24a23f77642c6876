"""Steps that classes of transformers build, in place of the steps in a tokenizer.json.

Such a class takes only vocabulary, merges and added tokens from the file, in some cases also the post-processor.
`piece_classes` has the classes that read a sentencepiece model, this module has the others.
tests/conformance/test_class_steps.py compares both with transformers 5.24.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.formats.huggingface import class_settings
from fastbpe.formats.huggingface.class_settings import BERT_ROLES, ROBERTA_ROLES, Settings
from fastbpe.formats.huggingface.piece_classes import WITH_JSON
from fastbpe.formats.huggingface.step_json import ESCAPE, STRIP, llama_decoder, metaspace, replace, split
from fastbpe.formats.huggingface.write import BPE_DEFAULTS
from fastbpe.patterns import PATTERNS

Config: TypeAlias = Mapping[str, Any]
Roles: TypeAlias = Mapping[str, str]
Step: TypeAlias = dict[str, Any]

_WORD_END = "</w>"
_NO_TOKEN = "None"  # the classes pass str(unk_token), also if a file sets unk_token to null
_CLIP_WORDS = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
_SIGNS = r"[\(\)\[\]\{\}]|([!\"#\$%\&'\*\+,\-\./:;<=>\?\\\^_`\|\~])\1*"
_BERT_TEMPLATE = ("cls $A sep", "cls $A sep $B:1 sep:1")
#: Templates that put nothing around texts. With a tokenizer.json, add_bos_token and add_eos_token are ignored.
PLAIN = ("$A", "$A $B:1")
#: Templates of Splinter if the padding is on the left.
SPLINTER_LEFT = ("cls $A sep", "cls $A sep $B:1 question_token:1 .:1 sep:1")
_BYTES_DECODER = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}


class Built(NamedTuple):
    """Tokenizer that a class builds.

    Attributes:
        kind: type of its model; "": any.
        settings: the class's defaults for roles and tokens, which complete or override the folder's other files.
        steps: function from (tokenizer_config.json, role → token, rules of the file's Precompiled, or []) to
            normalizer, pre-tokenizer, decoder and options of the model; None: the file's steps are used.
        template: templates for a text and for two: $A and $B are the texts; the other words are roles, names of
            tokens in tokenizer_config.json, or texts of tokens. A type id other than 0 follows ":". (): the file's
            post-processor is used.
        processor: type of the post-processor if it is not a template; "ByteLevel": only if the file has no
            post-processor.
        ends: roles of the tokens that this post-processor has as cls and sep.
        trims, prefixes: trim_offsets and add_prefix_space of a RobertaProcessing; None: tokenizer_config.json may
            set it.
    """

    kind: str
    settings: Settings
    steps: Callable[[Config, Roles, list[Step]], Step] | None
    template: tuple[str, ...] = ()
    processor: str = ""
    ends: tuple[str, str] = ("cls", "sep")
    trims: bool | None = True
    prefixes: bool | None = None


def _sequence(steps: list[Step], key: str) -> Step | None:
    """Return steps as one; None without steps."""
    return {"type": "Sequence", key: steps} if steps else None


def merging(**options: Any) -> Step:
    """Return the options of a BPE model. They replace the options in the file."""
    return {**BPE_DEFAULTS, **options}


def bert_normalizer(**options: Any) -> Step:
    """Return BERT's normalizer; options replace its defaults."""
    return {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        **options,
    }


def _bert(
    config: Config, roles: Roles, charsmap: list[Step], *, prefix: str = "##", cleans: bool | None = True
) -> Step:
    """Return the steps of BERT and its relatives.

    Args:
        config, roles, charsmap: as for the function `Built.steps`.
        prefix: the decoder's prefix of tokens inside words.
        cleans: the normalizer removes control characters; None: tokenizer_config.json may set it.
    """
    return {
        "normalizer": bert_normalizer(
            clean_text=config.get("clean_text", True) if cleans is None else cleans,
            handle_chinese_chars=config.get("tokenize_chinese_chars", True),
            strip_accents=config.get("strip_accents"),
            lowercase=config.get("do_lower_case", True),
        ),
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece", "prefix": prefix, "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": roles.get("unk", _NO_TOKEN),
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
        },
    }


def _dpr(config: Config, roles: Roles, charsmap: list[Step]) -> Step:
    return _bert({**config, "do_lower_case": True}, roles, charsmap)  # the class ignores the configured value


def _funnel(config: Config, roles: Roles, charsmap: list[Step]) -> Step:
    return _bert(config, roles, charsmap, prefix=config.get("wordpieces_prefix", "##"), cleans=None)


def _words(
    config: Config, roles: Roles, charsmap: list[Step], *, lowercase: bool, strip_accents: bool | None = None
) -> Step:
    """Return the steps of GPT-1 and HerBERT."""
    return {
        "normalizer": bert_normalizer(lowercase=lowercase, strip_accents=strip_accents),
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "BPEDecoder", "suffix": _WORD_END},
        "model": merging(unk_token=roles.get("unk", _NO_TOKEN), end_of_word_suffix=_WORD_END),
    }


def _bytes(config: Config, roles: Roles, charsmap: list[Step], *, settings: Settings) -> Step:
    """Return the steps of GPT-2 and its relatives."""
    prefixes = config.get("add_prefix_space", settings.prefix_space)
    if prefixes is None and settings.pattern != "gpt2":
        prefixes = False  # the classes with a pattern of their own accept null
    spells = {"type": "ByteLevel", "add_prefix_space": prefixes, "trim_offsets": True, "use_regex": True}
    if settings.pre_tokenizers:
        before = [step for step in settings.pre_tokenizers if step["type"] != "ByteLevel"]
        steps = _sequence([*map(dict, before), spells], "pretokenizers")
    elif settings.pattern == "gpt2":
        steps = spells
    else:
        words = split(PATTERNS[settings.pattern])
        steps = _sequence([words, {**spells, "use_regex": False}], "pretokenizers")
    return {
        "normalizer": dict(settings.normalizers[0]) if settings.normalizers else None,
        "pre_tokenizer": steps,
        "decoder": _BYTES_DECODER,
        "model": merging(),
    }


def _clip(config: Config, roles: Roles, charsmap: list[Step]) -> Step:
    return {
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "NFC"},
                replace("Regex", r"\s+", " "),
                {"type": "Lowercase"},
            ],
        },
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                split(_CLIP_WORDS, "Removed", invert=True),
                {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            ],
        },
        "decoder": {
            "type": "Sequence",
            "decoders": [
                _BYTES_DECODER,
                replace("String", _WORD_END, " "),
                {"type": "Strip", "content": " ", "start": 0, "stop": 1},
            ],
        },
        "model": merging(unk_token=roles.get("unk", _NO_TOKEN), end_of_word_suffix=_WORD_END),
    }


def _nougat(config: Config, roles: Roles, charsmap: list[Step]) -> Step:
    # The class passes regexes as strings, which Split then finds literally.
    steps = [
        split("SPL1T-TH1S-Pl3A5E", "Removed", kind="String"),
        {"type": "Digits", "individual_digits": True},
        split(_SIGNS, kind="String"),
        split("\n", kind="String"),
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    ]
    return {
        "normalizer": {"type": "NFKC"},
        "pre_tokenizer": _sequence(steps, "pretokenizers"),
        "decoder": _BYTES_DECODER,
        "model": merging(),
    }


def _llama(config: Config, roles: Roles, charsmap: list[Step], *, is_code: bool = False) -> Step:
    """Return the steps of Llama. is_code: of Code Llama, whose class ignores `legacy`."""
    prefixes = config.get("add_prefix_space")
    prefixes = True if prefixes is None else prefixes
    is_old = config.get("legacy", False) and not is_code
    scheme = "never" if not prefixes else "always" if is_old else "first"
    unknown = roles.get("unk", _NO_TOKEN) if is_code else None
    return {
        "normalizer": None,
        "pre_tokenizer": metaspace(scheme, split=False),
        "decoder": llama_decoder(*([STRIP] if prefixes or is_code else [])),
        "model": merging(unk_token=unknown, fuse_unk=True, byte_fallback=True),
    }


def _gemma(config: Config, roles: Roles, charsmap: list[Step], *, lowers: bool = False) -> Step:
    """Return the steps of Gemma and SigLIP 2."""
    return {
        "normalizer": _sequence([{"type": "Lowercase"}, ESCAPE], "normalizers") if lowers else ESCAPE,
        "pre_tokenizer": split(" ", "MergedWithPrevious", kind="String"),
        "decoder": llama_decoder(),
        "model": merging(unk_token=roles.get("unk", _NO_TOKEN), fuse_unk=True, byte_fallback=True),
    }


def _tips(config: Config, roles: Roles, charsmap: list[Step]) -> Step:
    lower = [{"type": "Lowercase"}] if config.get("do_lower_case", True) else []
    spaces = metaspace("always")
    return {
        "normalizer": {"type": "Sequence", "normalizers": [*lower, *charsmap]},
        "pre_tokenizer": _sequence([{"type": "WhitespaceSplit"}, spaces], "pretokenizers"),
        "decoder": {"type": "Sequence", "decoders": [spaces, {"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": merging(fuse_unk=True, byte_fallback=True),
    }


def _with_bytes(settings: Settings, **more: Any) -> Built:
    return Built("BPE", settings, partial(_bytes, settings=settings), **more)


_BERT_SETTINGS = Settings(BERT_ROLES)
# Classes of transformers 5 with the rules of BertTokenizer.
_BERT_CLASSES = ("Bert", "ConvBert", "DistilBert", "Electra", "LayoutLM", "Lxmert", "MobileBert", "SqueezeBert")
# Classes with the same rules, except that text always becomes lower case.
_DPR_CLASSES = ("DPRContextEncoder", "DPRQuestionEncoder", "DPRReader")
_OWN = class_settings.CLASSES
_ROBERTA = _with_bytes(_OWN["Roberta"], processor="RobertaProcessing", trims=None)
_LEFT = {"lstrip": True}
_GEMMA_ROLES = {"unk": "<unk>", "bos": "<bos>", "eos": "<eos>", "pad": "<pad>", "mask": "<mask>"}
_NAMES = {
    f"{name}_token": f"▁<{text}>" for name, text in (("prefix", "PRE"), ("middle", "MID"), ("suffix", "SUF"))
}
_CODE_NAMES = {**_NAMES, "eot_token": "▁<EOT>", "fill_token": "<FILL_ME>"}
#: Name without "Tokenizer" and "Fast" → tokenizer.
CLASSES: Mapping[str, Built] = {
    **dict.fromkeys(_BERT_CLASSES, Built("WordPiece", _BERT_SETTINGS, _bert, _BERT_TEMPLATE)),
    "ConvBert": Built("", _BERT_SETTINGS, None, _BERT_TEMPLATE),
    "FNet": Built("", WITH_JSON["Albert"].settings, None),
    **dict.fromkeys(_DPR_CLASSES, Built("WordPiece", _BERT_SETTINGS, _dpr, _BERT_TEMPLATE)),
    "LayoutLMv2": Built("WordPiece", _BERT_SETTINGS, _bert, _BERT_TEMPLATE),
    "Splinter": Built(
        "WordPiece",
        _BERT_SETTINGS._replace(specific={"question_token": "[QUESTION]"}),
        _bert,
        ("cls $A sep", "cls $A question_token . sep $B:1 sep:1"),
    ),
    "Funnel": Built(
        "WordPiece",
        Settings({**ROBERTA_ROLES, "sep": "<sep>", "cls": "<cls>"}),
        _funnel,
        ("cls:2 $A sep", "cls:2 $A sep $B:1 sep:1"),
    ),
    "MPNet": Built(
        "WordPiece",
        Settings({**ROBERTA_ROLES, "unk": "[UNK]"}, mask=_LEFT),
        _bert,
        processor="RobertaProcessing",
        prefixes=False,
    ),
    "GPT2": _with_bytes(_OWN["GPT2"]),
    "CodeGen": _with_bytes(_OWN["CodeGen"], processor="ByteLevel"),
    "Whisper": _with_bytes(_OWN["Whisper"]),
    **dict.fromkeys(("Roberta", "Bart", "Longformer", "LED", "Mvp"), _ROBERTA),
    "Blenderbot": _with_bytes(_OWN["Blenderbot"]),
    "Luke": _with_bytes(_OWN["Luke"], processor="RobertaProcessing", prefixes=True),
    "LayoutLMv3": _with_bytes(Settings(ROBERTA_ROLES, prefix_space=True), processor="RobertaProcessing"),
    "MarkupLM": _with_bytes(Settings(ROBERTA_ROLES, mask=_LEFT), template=("cls $A sep", "cls $A sep $B sep")),
    "Deberta": _with_bytes(_OWN["Deberta"], template=("cls $A sep", "cls $A sep sep $B sep")),
    "Qwen2": _with_bytes(_OWN["Qwen2"]),
    "Qwen3_5": _with_bytes(_OWN["Qwen3_5"]),
    "Cohere": _with_bytes(_OWN["Cohere"]),
    "GPTNeoX": _with_bytes(_OWN["GPTNeoX"], template=PLAIN),
    "Nougat": Built(
        "BPE",
        Settings({"unk": "<unk>", "bos": "<s>", "eos": "</s>", "pad": "<pad>"}),
        _nougat,
        ("bos $A eos", "$A $B:1"),
    ),
    "CLIP": Built(
        "BPE",
        Settings(
            {"unk": "<|endoftext|>", "bos": "<|startoftext|>", **dict.fromkeys(("eos", "pad"), "<|endoftext|>")}
        ),
        _clip,
        processor="RobertaProcessing",
        ends=("bos", "eos"),
        trims=False,
        prefixes=False,
    ),
    "OpenAIGPT": Built("BPE", Settings({"unk": "<unk>"}), partial(_words, lowercase=True)),
    "Herbert": Built(
        "BPE",
        Settings({"unk": "<unk>", "pad": "<pad>", "mask": "<mask>", "cls": "<s>", "sep": "</s>"}),
        partial(_words, lowercase=False, strip_accents=False),
        processor="BertProcessing",
    ),
    "Llama": Built("BPE", _OWN["Llama"], _llama),
    "CodeLlama": Built(
        "BPE",
        Settings(_OWN["Llama"].roles, pattern="", specific=_CODE_NAMES),
        partial(_llama, is_code=True),
        ("bos $A", "bos $A bos:1 $B:1"),
    ),
    "Gemma": Built("BPE", Settings(_GEMMA_ROLES, pattern=""), _gemma),
    "Siglip2": Built("BPE", Settings(_GEMMA_ROLES, pattern=""), partial(_gemma, lowers=True)),
    "Tipsv2": Built("BPE", Settings({"unk": "<unk>", "pad": "<pad>"}, pattern=""), _tips),
}
#: Classes that read a vocab.txt of WordPiece → tokenizer. ConvBERT builds its steps only for such a file.
WORDS: Mapping[str, Built] = {
    **{name: built for name, built in CLASSES.items() if built.kind == "WordPiece"},
    "ConvBert": CLASSES["Bert"],
}
#: Classes that build the same steps for a vocab.json with a merges.txt; `class_settings` has others.
PAIRS = ("LayoutLMv3", "MarkupLM", "Nougat", "CLIP", "OpenAIGPT", "Herbert")
#: Classes whose steps fastbpe does not build → reason.
UNKNOWN: Mapping[str, str] = {
    "RoFormer": "its pre-tokenizer finds Chinese words with rjieba",
    "Esmc": "its model has the amino acids instead of the file's vocabulary",
}
