"""Ready-made tokenizers with other models than BPE: BERT's WordPiece, and sentencepiece's Unigram."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastbpe.errors import FormatError
from fastbpe.tokenizers import decoders, normalizers, pre_tokenizers, processors
from fastbpe.tokenizers.base_tokenizer import TrainedTokenizer
from fastbpe.tokenizers.components import Regex
from fastbpe.tokenizers.models import Unigram, WordPiece
from fastbpe.tokenizers.pipeline_tokenizer import Tokenizer
from fastbpe.tokenizers.trainers import UnigramTrainer, WordPieceTrainer

_SPECIAL: list[Any] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


class BertWordPieceTokenizer(TrainedTokenizer):
    """WordPiece, as in BERT.

    Args:
        vocab: vocabulary, or the path of a vocab.txt; None: to be trained.
        unk_token: token for words that cannot be split into tokens.
        sep_token, cls_token: tokens after each text, and before the first one, if there is a vocabulary.
        pad_token, mask_token: further special tokens, if the vocabulary contains them.
        clean_text: remove control characters, and turn all white space into spaces.
        handle_chinese_chars: put spaces around Chinese characters.
        strip_accents: remove accents; None: only if lowercase is True.
        lowercase: make texts lower case.
        wordpieces_prefix: text that decoding removes from tokens that continue a word.

    Raises:
        TypeError: the vocabulary lacks sep_token or cls_token.
    """

    _trainer = WordPieceTrainer
    _options = (
        "vocab_size",
        "min_frequency",
        "limit_alphabet",
        "initial_alphabet",
        "special_tokens",
        "show_progress",
        "continuing_subword_prefix",
    )

    def __init__(
        self,
        vocab: Mapping[str, int] | str | None = None,
        unk_token: Any = "[UNK]",
        sep_token: Any = "[SEP]",
        cls_token: Any = "[CLS]",
        pad_token: Any = "[PAD]",
        mask_token: Any = "[MASK]",
        clean_text: bool = True,
        handle_chinese_chars: bool = True,
        strip_accents: bool | None = None,
        lowercase: bool = True,
        wordpieces_prefix: str = "##",
    ) -> None:
        tokenizer = Tokenizer(WordPiece(vocab, unk_token=str(unk_token)))
        for token in map(str, (unk_token, sep_token, cls_token, pad_token, mask_token)):
            if tokenizer.token_to_id(token) is not None:
                tokenizer.add_special_tokens([token])
        cleaning: dict[str, Any] = {
            "clean_text": clean_text,
            "handle_chinese_chars": handle_chinese_chars,
            "strip_accents": strip_accents,
            "lowercase": lowercase,
        }
        tokenizer.normalizer = normalizers.BertNormalizer(**cleaning)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        if vocab is not None:
            around = []
            for name, token in (("sep_token", str(sep_token)), ("cls_token", str(cls_token))):
                token_id = tokenizer.token_to_id(token)
                if token_id is None:
                    raise TypeError(f"{name} not found in the vocabulary")
                around.append((token, token_id))
            tokenizer.post_processor = processors.BertProcessing(*around)
        tokenizer.decoder = decoders.WordPiece(prefix=wordpieces_prefix)
        parameters = {
            "model": "BertWordPiece",
            "unk_token": unk_token,
            "sep_token": sep_token,
            "cls_token": cls_token,
            "pad_token": pad_token,
            "mask_token": mask_token,
            **cleaning,
            "wordpieces_prefix": wordpieces_prefix,
        }
        super().__init__(tokenizer, parameters)

    @staticmethod
    def from_file(vocab: str, **kwargs: Any) -> BertWordPieceTokenizer:
        """Create a tokenizer from a vocab.txt. Also accepts the other arguments of the class."""
        return BertWordPieceTokenizer(WordPiece.read_file(vocab), **kwargs)

    def train(
        self,
        files: str | Sequence[str],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        limit_alphabet: int = 1000,
        initial_alphabet: Sequence[str] = (),
        special_tokens: list[Any] = _SPECIAL,
        show_progress: bool = True,
        wordpieces_prefix: str = "##",
    ) -> None:
        """Train on a file, or on several files. The options are as in `trainers.WordPieceTrainer`.

        wordpieces_prefix: the trainer's continuing_subword_prefix.
        """
        first = vocab_size, min_frequency, limit_alphabet, initial_alphabet, special_tokens
        self._train(files, *first, show_progress, wordpieces_prefix)

    def train_from_iterator(
        self,
        iterator: Iterable[Any],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        limit_alphabet: int = 1000,
        initial_alphabet: Sequence[str] = (),
        special_tokens: list[Any] = _SPECIAL,
        show_progress: bool = True,
        wordpieces_prefix: str = "##",
        length: int | None = None,
    ) -> None:
        """Train on an iterator of texts. `length` has no effect; the other arguments are as in `train`."""
        first = vocab_size, min_frequency, limit_alphabet, initial_alphabet, special_tokens
        self._train_from_iterator(iterator, length, *first, show_progress, wordpieces_prefix)


class SentencePieceUnigramTokenizer(TrainedTokenizer):
    """Unigram in which U+2581 represents a space, as in sentencepiece.

    Args:
        vocab: list of (token, score); None: to be trained.
        replacement: the character that represents a space.
        add_prefix_space: put a space before texts that do not begin with one.
    """

    _trainer = UnigramTrainer
    _options = ("vocab_size", "show_progress", "special_tokens", "initial_alphabet", "unk_token")

    def __init__(
        self,
        vocab: Sequence[tuple[str, float]] | None = None,
        replacement: str = "\u2581",
        add_prefix_space: bool = True,
    ) -> None:
        tokenizer = Tokenizer(Unigram(vocab))
        steps = [normalizers.Nmt(), normalizers.NFKC(), _one_space()]
        _put_components(tokenizer, steps, replacement, add_prefix_space)
        parameters = {
            "model": "SentencePieceUnigram",
            "replacement": replacement,
            "add_prefix_space": add_prefix_space,
        }
        super().__init__(tokenizer, parameters)

    def train(
        self,
        files: str | Sequence[str],
        vocab_size: int = 8000,
        show_progress: bool = True,
        special_tokens: list[Any] | None = None,
        initial_alphabet: Sequence[str] | None = None,
        unk_token: str | None = None,
    ) -> None:
        """Train on a file, or on several files. The options are as in `trainers.UnigramTrainer`."""
        special, alphabet = _list_of(special_tokens), _list_of(initial_alphabet)
        self._train(files, vocab_size, show_progress, special, alphabet, unk_token)

    def train_from_iterator(
        self,
        iterator: Iterable[Any],
        vocab_size: int = 8000,
        show_progress: bool = True,
        special_tokens: list[Any] | None = None,
        initial_alphabet: Sequence[str] | None = None,
        unk_token: str | None = None,
        length: int | None = None,
    ) -> None:
        """Train on an iterator of texts. `length` has no effect; the other arguments are as in `train`."""
        special, alphabet = _list_of(special_tokens), _list_of(initial_alphabet)
        self._train_from_iterator(iterator, length, vocab_size, show_progress, special, alphabet, unk_token)

    @staticmethod
    def from_spm(filename: str) -> SentencePieceUnigramTokenizer:
        """Create a tokenizer from a sentencepiece model. Unlike tokenizers, this does not need protobuf.

        Args:
            filename: path of the model.

        Raises:
            OSError: the file cannot be read.
            FormatError: it is damaged, or not a Unigram model.
        """
        from fastbpe.formats.sentencepiece import model_file  # here: few programs read one

        with open(filename, "rb") as file:
            data = file.read()
        # any_text: tokenizers also takes pieces that sentencepiece refuses.
        read = model_file.parse(data, str(filename), any_text=True, model_types=("unigram",))
        try:
            pieces = [piece.decode() for piece in read.pieces]
        except UnicodeDecodeError as error:
            raise FormatError(f"{filename}: a piece is not UTF-8: {error}") from None
        vocab = [*zip(pieces, array("f", read.scores), strict=True)]
        tokenizer = Tokenizer(Unigram(vocab, read.trainer["unk_id"], read.trainer["byte_fallback"]))
        charsmap = read.normalizer["precompiled_charsmap"]
        steps = [normalizers.Precompiled(charsmap)] if charsmap else []
        _put_components(tokenizer, [*steps, _one_space()], "\u2581", True)
        made = SentencePieceUnigramTokenizer.__new__(SentencePieceUnigramTokenizer)
        TrainedTokenizer.__init__(made, tokenizer, {"model": "SentencePieceUnigram"})
        return made


def _one_space() -> normalizers.Normalizer:
    """Return the normalizer that replaces several spaces by one."""
    return normalizers.Replace(Regex(" {2,}"), " ")


def _put_components(tokenizer: Tokenizer, steps: list[Any], replacement: str, add_prefix_space: bool) -> None:
    """Set a tokenizer's normalizer to these steps, and its pre-tokenizer and decoder to a Metaspace."""
    scheme = "always" if add_prefix_space else "never"
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=replacement, prepend_scheme=scheme)
    tokenizer.decoder = decoders.Metaspace(replacement=replacement, prepend_scheme=scheme)


def _list_of(value: Any) -> Any:
    """Return an argument; an empty list for None."""
    return [] if value is None else value
