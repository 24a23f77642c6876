"""Drop-in for tokenizers 0.23: `import fastbpe.tokenizers as tokenizers`.

Its objects describe the same components as a tokenizer.json, and fastbpe's core runs them, with a model of any
type. The tokenizers package need not be installed.
"""

from fastbpe.huggingface.encoding import Encoding
from fastbpe.tokenizers import decoders as decoders
from fastbpe.tokenizers import models as models
from fastbpe.tokenizers import normalizers as normalizers
from fastbpe.tokenizers import pre_tokenizers as pre_tokenizers
from fastbpe.tokenizers import processors as processors
from fastbpe.tokenizers.added_token import AddedToken
from fastbpe.tokenizers.components import Regex
from fastbpe.tokenizers.normalized_string import NormalizedString
from fastbpe.tokenizers.pipeline_tokenizer import Tokenizer
from fastbpe.tokenizers.pre_tokenized_string import PreTokenizedString
from fastbpe.tokenizers.token import Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fastbpe.tokenizers import implementations as implementations
    from fastbpe.tokenizers import trainers as trainers
    from fastbpe.tokenizers.implementations import (
        BertWordPieceTokenizer,
        ByteLevelBPETokenizer,
        CharBPETokenizer,
        SentencePieceBPETokenizer,
        SentencePieceUnigramTokenizer,
    )
    from fastbpe.tokenizers.type_names import (
        EncodeInput,
        InputSequence,
        OffsetReferential,
        Offsets,
        OffsetType,
        PreTokenizedEncodeInput,
        PreTokenizedInputSequence,
        SplitDelimiterBehavior,
        TextEncodeInput,
        TextInputSequence,
    )

#: Version of the tokenizers library that has this interface.
__version__ = "0.23.3"

__all__ = [
    "AddedToken",
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CharBPETokenizer",
    "EncodeInput",
    "Encoding",
    "InputSequence",
    "NormalizedString",
    "OffsetReferential",
    "OffsetType",
    "Offsets",
    "PreTokenizedEncodeInput",
    "PreTokenizedInputSequence",
    "PreTokenizedString",
    "Regex",
    "SentencePieceBPETokenizer",
    "SentencePieceUnigramTokenizer",
    "SplitDelimiterBehavior",
    "TextEncodeInput",
    "TextInputSequence",
    "Token",
    "Tokenizer",
    "decoders",
    "implementations",
    "models",
    "normalizers",
    "pre_tokenizers",
    "processors",
    "trainers",
]

if not TYPE_CHECKING:  # type checkers then know the names above, and no others

    def __getattr__(name):
        """Return a public name, and import its module at first use. Raises AttributeError for other names."""
        from importlib import import_module

        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name in ("implementations", "trainers"):
            return import_module(f"{__name__}.{name}")
        module = "implementations" if name.endswith("Tokenizer") else "type_names"
        value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
