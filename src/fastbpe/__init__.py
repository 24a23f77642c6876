"""Train and run byte-pair-encoding (BPE) tokenizers, fast and with the same ids as the originals.

    tokenizer = fastbpe.load("gpt-4o")                  a published vocabulary, or a tokenizer file of any format
    tokenizer = fastbpe.train("corpus/", vocab_size=32_000, special_tokens=["<|end|>"])

    tokenizer.encode("Hello, world")                    list of ids; encode_batch takes many texts
    tokenizer.decode(ids)                               the text; decoder() for a stream of ids
    tokenizer.count(text)                               number of tokens; fits, truncate and chunk apply a limit
    tokenizer.encode_with_offsets(text)                 ids, and the position of each token in the text
    tokenizer.encode_files("corpus/", "ids.bin")        a file of ids for training a model; open_ids reads it
    tokenizer.save("my.fbpe")                           export writes tokenizer.json, .tiktoken, .model, GGUF, ...

    fastbpe.show(tokenizer, text)                       tokens in colours; tokenizer.explain(text) shows the merges
    fastbpe.vocabulary_report(tokenizer)                tokens that no text can produce, costs by script, ...
    tokenizer.with_special_tokens(["<|user|>"])         change a vocabulary: with_tokens, prune, merge_vocabularies

Other libraries' calls, with the same ids: fastbpe.tiktoken, fastbpe.sentencepiece, fastbpe.tokenizers,
fastbpe.minbpe, fastbpe.rustbpe; fastbpe.transformers speeds up the tokenizers of transformers.

help(fastbpe.Tokenizer) describes the methods, `fastbpe --help` the command line.
"""

try:
    from fastbpe._compiled import add_finder as _add_finder

    _add_finder()
    # Nearly every call needs the core: if it was not built, say so now and not at the first of them.
    import fastbpe._core.merge.vocabulary  # noqa: F401
except ModuleNotFoundError as error:
    if error.name is None or not error.name.startswith("fastbpe."):
        raise
    from fastbpe._utils.missing_modules import explain

    raise ImportError(explain(error.name), name=error.name) from error

import sys as _sys

from fastbpe._version import __version__
from fastbpe.errors import (
    FastbpeError,
    FormatError,
    FormatWarning,
    InvalidTokenError,
    MissingByteError,
    OptionError,
    PatternError,
    SpecialTokenError,
    TrainingError,
    TrainingWarning,
    VocabularyError,
)

TYPE_CHECKING = False  # type checkers read it as True; importing `typing` for it would take longer than the rest
if TYPE_CHECKING:
    from fastbpe import minbpe as minbpe
    from fastbpe import ray as ray
    from fastbpe import rustbpe as rustbpe
    from fastbpe import sentencepiece as sentencepiece
    from fastbpe import spark as spark
    from fastbpe import tiktoken as tiktoken
    from fastbpe import tokenizers as tokenizers
    from fastbpe import transformers as transformers
    from fastbpe.corpus.file_encoding import FilesSummary
    from fastbpe.display.shown_text import show
    from fastbpe.drop_ins import install, uninstall
    from fastbpe.id_files.merging import merge_shards
    from fastbpe.id_files.reader import StoredIds, open_ids
    from fastbpe.memory import release_memory
    from fastbpe.model import AddedToken
    from fastbpe.patterns import PATTERNS
    from fastbpe.tokenizer.asynchronous import aencode, aencode_batch
    from fastbpe.tokenizer.files.write_shard import write_shard
    from fastbpe.tokenizer.loading import load
    from fastbpe.tokenizer.sequences.sequence_tokenizer import SequenceTokenizer
    from fastbpe.tokenizer.shown.alignment import align
    from fastbpe.tokenizer.shown.shown_steps import steps
    from fastbpe.tokenizer.streams.joints import joins
    from fastbpe.tokenizer.surgery.changed_texts import changed_texts
    from fastbpe.tokenizer.surgery.joining import merge_vocabularies
    from fastbpe.tokenizer.tokenizer import Tokenizer
    from fastbpe.training.codepoint_model import training_options
    from fastbpe.training.dispatch import train
    from fastbpe.training.named_sources import Parity
    from fastbpe.training.piece_counting import count_pieces
    from fastbpe.training.piece_counts import PieceCounts
    from fastbpe.training.superword_options import Superwords
    from fastbpe.vocabularies.id_map import IdMap
    from fastbpe.vocabularies.merge_tree import merge_tree
    from fastbpe.vocabularies.report import vocabulary_report

__all__ = [
    "PATTERNS",
    "AddedToken",
    "FastbpeError",
    "FilesSummary",
    "FormatError",
    "FormatWarning",
    "IdMap",
    "InvalidTokenError",
    "MissingByteError",
    "OptionError",
    "Parity",
    "PatternError",
    "PieceCounts",
    "SequenceTokenizer",
    "SpecialTokenError",
    "StoredIds",
    "Superwords",
    "Tokenizer",
    "TrainingError",
    "TrainingWarning",
    "VocabularyError",
    "__version__",
    "aencode",
    "aencode_batch",
    "align",
    "changed_texts",
    "count_pieces",
    "install",
    "joins",
    "load",
    "merge_shards",
    "merge_tree",
    "merge_vocabularies",
    "open_ids",
    "release_memory",
    "show",
    "steps",
    "train",
    "training_options",
    "uninstall",
    "vocabulary_report",
    "write_shard",
]

# Name → module that defines it. These are imported at first use, so that a program pays for what it uses.
_LATER = {
    "AddedToken": "model",
    "FilesSummary": "corpus.file_encoding",
    "IdMap": "vocabularies.id_map",
    "PATTERNS": "patterns",
    "Parity": "training.named_sources",
    "PieceCounts": "training.piece_counts",
    "SequenceTokenizer": "tokenizer.sequences.sequence_tokenizer",
    "StoredIds": "id_files.reader",
    "Superwords": "training.superword_options",
    "Tokenizer": "tokenizer.tokenizer",
    "aencode": "tokenizer.asynchronous",
    "aencode_batch": "tokenizer.asynchronous",
    "align": "tokenizer.shown.alignment",
    "changed_texts": "tokenizer.surgery.changed_texts",
    "count_pieces": "training.piece_counting",
    "install": "drop_ins",
    "joins": "tokenizer.streams.joints",
    "load": "tokenizer.loading",
    "merge_shards": "id_files.merging",
    "merge_tree": "vocabularies.merge_tree",
    "merge_vocabularies": "tokenizer.surgery.joining",
    "open_ids": "id_files.reader",
    "release_memory": "memory",
    "show": "display.shown_text",
    "steps": "tokenizer.shown.shown_steps",
    "train": "training.dispatch",
    "training_options": "training.codepoint_model",
    "uninstall": "drop_ins",
    "vocabulary_report": "vocabularies.report",
    "write_shard": "tokenizer.files.write_shard",
}


# Modules that are imported at first use, too. Each can be imported without the package that it serves, so that
# `hasattr` and tools that look at every name work; a call that needs the package raises an ImportError that names
# it.
_DOORS = {"minbpe", "ray", "rustbpe", "sentencepiece", "spark", "tiktoken", "tokenizers", "transformers"}

if "IPython" in _sys.modules:
    from fastbpe.published.ipython import complete_names

    complete_names()

if not TYPE_CHECKING:  # type checkers then know the names above, and no others

    def __getattr__(name):
        from importlib import import_module

        if name in _DOORS:
            return import_module(f"fastbpe.{name}")
        if name not in _LATER:
            raise AttributeError(f"module 'fastbpe' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"fastbpe.{_LATER[name]}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_DOORS, *(name for name in globals() if name.startswith("__"))})
