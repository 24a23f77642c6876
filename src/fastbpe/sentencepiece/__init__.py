"""sentencepiece's interface (version 0.2.3) over fastbpe: it runs models of every type.

Write `import fastbpe.sentencepiece as spm`.

Ids, pieces, offsets and scores equal sentencepiece's. Errors can be caught as sentencepiece's, but many have other
messages. Random samples differ, but have the same distribution.
"""

from fastbpe.sentencepiece._module import (
    ConvertToFlatbuffer,
    SetDataDir,
    SetMinLogLevel,
    convert_to_flatbuffer,
    set_data_dir,
    set_min_log_level,
)
from fastbpe.sentencepiece._normalizer import SentencePieceNormalizer
from fastbpe.sentencepiece._processor import SentencePieceProcessor
from fastbpe.sentencepiece._settings import (
    SetNBestTimeout,
    SetRandomGeneratorSeed,
    set_nbest_timeout,
    set_random_generator_seed,
)
from fastbpe.sentencepiece._threads import ThreadPool
from fastbpe.sentencepiece._trainer import SentencePieceTrainer

__version__ = "0.2.3"  # version of the interface

__all__ = [
    "ConvertToFlatbuffer",
    "SentencePieceNormalizer",
    "SentencePieceProcessor",
    "SentencePieceTrainer",
    "SetDataDir",
    "SetMinLogLevel",
    "SetNBestTimeout",
    "SetRandomGeneratorSeed",
    "ThreadPool",
    "convert_to_flatbuffer",
    "set_data_dir",
    "set_min_log_level",
    "set_nbest_timeout",
    "set_random_generator_seed",
]
