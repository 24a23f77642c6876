"""Small backends of many kinds of models, as published tokenizer.json files have them, and odd calls."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers

from helpers.shared_data import LLAMA3, standard_library

BYTES: Any = pre_tokenizers.ByteLevel.alphabet()
BYTE_LEVEL: Any = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
WORDS: Any = pre_tokenizers.ByteLevel(add_prefix_space=False)
KINDS: dict[str, Callable[[], Any]] = {}


def kind(function: Callable[[], Any]) -> Callable[[], Any]:
    """Add a function that makes a backend to the list."""
    KINDS[function.__name__] = function
    return function


def split(*patterns: str) -> list[Any]:
    """Return pre-tokenizers that cut at regexes."""
    return [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns]


def template(backend: Any, single: str, pair: str) -> Any:
    """Return a template that names special tokens of the backend."""
    names = {name.split(":")[0] for name in f"{single} {pair}".split()} - {"$A", "$B"}
    ids = [(name, backend.token_to_id(name)) for name in sorted(names)]
    return processors.TemplateProcessing(single=single, pair=pair, special_tokens=ids)


def trained(model: Any, specials: list[str], *, alphabet: Any = (), limit: int = 1000) -> Any:
    """Train a model on text of the standard library."""
    backend = tokenizers.Tokenizer(model)
    backend.pre_tokenizer = WORDS if alphabet else None
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=specials,
        initial_alphabet=list(alphabet),
        limit_alphabet=limit,
        show_progress=False,
        **({"end_of_word_suffix": model.end_of_word_suffix} if model.end_of_word_suffix else {}),
    )
    backend.train_from_iterator(standard_library(60_000).splitlines(keepends=True), trainer)
    return backend


def byte_level(specials: list[str], *, steps: Any = None, ignore_merges: bool = False) -> Any:
    """Train a byte-level model, and give it pre-tokenizers."""
    backend = trained(models.BPE(ignore_merges=ignore_merges), specials, alphabet=BYTES)
    if steps is not None:
        backend.pre_tokenizer = pre_tokenizers.Sequence(steps)
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.ByteLevel(trim_offsets=False)
    return backend


def characters() -> Any:
    """Train a model of characters, in which spaces become U+2581 by a lone Replace, with byte fallback."""
    model = models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    made = json.loads(trained(model, ["<pad>", "<eos>", "<bos>", "<unk>"], limit=60).to_str())
    vocabulary = {token.replace(" ", "\u2581"): i for token, i in made["model"]["vocab"].items()}
    for i in range(256):
        vocabulary.setdefault(f"<0x{i:02X}>", len(vocabulary))
    merges = [[part.replace(" ", "\u2581") for part in merge] for merge in made["model"]["merges"]]
    made["model"] |= {"vocab": vocabulary, "merges": merges}
    backend: Any = tokenizers.Tokenizer.from_str(json.dumps(made))
    backend.normalizer = normalizers.Replace(" ", "\u2581")
    backend.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    backend.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    backend.post_processor = template(backend, "<bos> $A", "<bos> $A <bos>:1 $B:1")
    return backend


@kind
def gemma() -> Any:
    """Runs of line breaks are added tokens."""
    backend = characters()
    backend.add_tokens(["\n", "\n\n", "  ", "<start_of_turn>"])
    return backend


@kind
def trimmed_characters() -> Any:
    """White space of characters that are tokens is left out of offsets."""
    backend = characters()
    backend.post_processor = processors.RobertaProcessing(("<eos>", 1), ("<bos>", 2), trim_offsets=True)
    return backend


@kind
def roberta() -> Any:
    """Offsets without white space, a space before each text, a mask that takes the space before it."""
    backend = byte_level(["<s>", "<pad>", "</s>", "<unk>"])
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True)
    backend.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    return backend


@kind
def modern_bert() -> Any:
    """Runs of spaces, and words with flags, are added tokens."""
    backend = byte_level(["[CLS]", "[SEP]", "[PAD]", "[UNK]"])
    backend.normalizer = normalizers.NFC()
    backend.add_tokens([AddedToken(" " * n, normalized=True) for n in range(9, 1, -1)])
    backend.add_tokens([AddedToken("one", single_word=True), AddedToken("rs", rstrip=True, normalized=False)])
    backend.add_special_tokens([AddedToken("[MASK]", lstrip=True, special=True)])
    backend.post_processor = template(backend, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1")
    return backend


@kind
def llama_3() -> Any:
    """Whole pieces first, and a template after ByteLevel."""
    backend = byte_level(["<pad>"], steps=[*split(LLAMA3), BYTE_LEVEL], ignore_merges=True)
    backend.add_special_tokens(["<|begin_of_text|>", "<|eot_id|>"])
    start = template(backend, "<|begin_of_text|> $A", "<|begin_of_text|> $A <|begin_of_text|>:1 $B:1")
    backend.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), start])
    return backend


@kind
def other_type_ids() -> Any:
    """A template that gives texts other type ids than 0 and 1."""
    backend = byte_level(["[CLS]", "[SEP]", "[PAD]"])
    backend.post_processor = template(backend, "[CLS]:2 $A:1 [SEP]:5", "$A:1 [SEP]:3 $B:0 [CLS]")
    return backend


@kind
def falcon() -> Any:
    """Steps after ByteLevel see its characters."""
    steps = [pre_tokenizers.Punctuation("contiguous"), WORDS, pre_tokenizers.Digits(), *split("[0-9][0-9][0-9]")]
    backend = byte_level([">>TITLE<<", "<pad>"], steps=steps)
    backend.post_processor = processors.ByteLevel(trim_offsets=True)
    return backend


@kind
def starcoder() -> Any:
    """Digits one by one."""
    steps = [pre_tokenizers.Digits(individual_digits=True), WORDS]
    return byte_level(["<|endoftext|>", "<pad>", "<fim_prefix>"], steps=steps)


@kind
def deepseek() -> Any:
    """Several regexes one after another."""
    steps = [*split(r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u30ff]+", LLAMA3), BYTE_LEVEL]
    backend = byte_level(["<pad>"], steps=steps)
    backend.normalizer = normalizers.Sequence([])
    backend.add_special_tokens(["<\uff5cbegin\u2581of\u2581sentence\uff5c>"])
    backend.add_tokens(
        [AddedToken("<think>", normalized=False), AddedToken("<\uff5cUser\uff5c>", normalized=True)]
    )
    return backend


@kind
def two_byte_levels() -> Any:
    """Bytes of bytes."""
    return byte_level(["<pad>"], steps=[WORDS, BYTE_LEVEL])


@kind
def clip() -> Any:
    """Tokens at the end of a word have a suffix."""
    backend = trained(
        models.BPE(unk_token="<e>", end_of_word_suffix="</w>"), ["<s>", "<e>", "<pad>"], alphabet=BYTES
    )
    backend.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.RobertaProcessing(("<e>", 1), ("<s>", 0), trim_offsets=False)
    return backend


@lru_cache
def json_of_kind(name: str) -> str:
    """Return the tokenizer.json of a kind."""
    return str(KINDS[name]().to_str())


def make_kind(name: str) -> Any:
    """Make a stock tokenizer of a kind, with a pad token and a chat template."""
    from transformers import PreTrainedTokenizerFast

    backend: Any = tokenizers.Tokenizer.from_str(json_of_kind(name))
    made: Any = PreTrainedTokenizerFast(tokenizer_object=backend)
    made.pad_token = next(token for token in ("<pad>", "[PAD]") if backend.token_to_id(token) is not None)
    made.chat_template = "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}"
    return made


def with_length(call: Callable[[Any], Any], length: Any) -> Callable[[Any], Any]:
    """Return a call with another `model_max_length`."""

    def changed(t: Any) -> Any:
        kept, t.model_max_length = t.model_max_length, length
        try:
            return call(t)
        finally:
            t.model_max_length = kept

    return changed


TEXTS = [
    "Hello, world!  It's one tone.\n\n",
    "",
    "  x <mask> y",
    "\u65e5\u672c\u8a9e \xe9",
    "def f(x):\n        return 12345",
]
CUT = {"truncation": True, "max_length": 7, "return_overflowing_tokens": True, "return_token_type_ids": True}

#: Calls that once found differences, and calls that are nearly like them.
ODD_CALLS: dict[str, Callable[[Any], Any]] = {
    "list and encodings": lambda t: operator.add([1], t(TEXTS).encodings),
    "encodings and list": lambda t: operator.add(t(TEXTS).encodings, [1]),
    "list that grows": lambda t: _grown([], t(TEXTS).encodings),
    "no strategy of padding": lambda t: (t._encode_plus("a b", padding_strategy=None), t._tokenizer.padding),
    "no strategy of truncation": lambda t: t._encode_plus("a b", truncation_strategy=None, max_length=3),
    "no model_max_length": with_length(lambda t: t(TEXTS, **CUT), None),
    "no model_max_length, padded": with_length(lambda t: t(TEXTS[0], padding="max_length", max_length=9), None),
    "model_max_length of a str": with_length(lambda t: t(TEXTS, max_length=5, truncation=True), "9"),
    "model_max_length that is compared": with_length(lambda t: t(TEXTS), None),
    "offsets of white space": lambda t: t([*TEXTS, "a\n\t b\n"], return_offsets_mapping=True),
    "parts of texts": lambda t: t(TEXTS, **CUT),
    "parts of pairs": lambda t: t(TEXTS, TEXTS[::-1], **{**CUT, "max_length": 12, "stride": 1}),
    "tokens of texts": lambda t: [t(TEXTS).tokens(i) for i in range(len(TEXTS))],
    "words of texts": lambda t: t.tokenize(TEXTS[0], pair=TEXTS[2], add_special_tokens=True),
}


def _grown(items: list[Any], others: Any) -> list[Any]:
    items += others
    return items
