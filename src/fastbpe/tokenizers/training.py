"""Training by fastbpe. For BPE, WordPiece and WordLevel, the vocabulary is the one that tokenizers learns;
for Unigram, see `UnigramTrainer`.

The words of the texts are counted first. The core counts them with all threads if there are no added tokens, and
it can run the normalizer and the pre-tokenizer in byte mode, which knows no Metaspace. Else a Counter counts the
words of one text after another. `learning` then learns merges from the counts, `unigram_learning` learns scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from fastbpe._core.encode.offsets import piece_texts
from fastbpe._utils.choices import Special
from fastbpe._utils.progress import Progress
from fastbpe.errors import FastbpeError, FormatError, TrainingError
from fastbpe.formats.byte_level import text_of
from fastbpe.huggingface import checked_arguments
from fastbpe.tokenizer.tokenizer import Tokenizer as Native
from fastbpe.tokenizers import components, pre_tokenizers, trainers
from fastbpe.tokenizers.built import with_added
from fastbpe.tokenizers.components import needs_tokenizers
from fastbpe.tokenizers.definition import Definition
from fastbpe.tokenizers.learning import learn_words
from fastbpe.tokenizers.models import BPE
from fastbpe.tokenizers.trainer import Trainer
from fastbpe.tokenizers.trainers import BpeTrainer, UnigramTrainer, WordLevelTrainer, WordPieceTrainer
from fastbpe.tokenizers.written import WrittenEngine, carrier_of_bytes, is_written


def train(definition: Definition, texts: Iterable[str], trainer: Any) -> None:
    """Learn a vocabulary, set it in the model, and add the trainer's special tokens. trainer: as for `chosen`.

    Raises ImportError if fastbpe cannot run the components, and the errors of `chosen`.
    """
    model = definition.model
    trainer = chosen(trainer, model)
    parts = {name: definition.components[name] for name in ("normalizer", "pre_tokenizer")}
    described = {name: None if one is None else one.described() for name, one in parts.items()}
    described |= {"version": "1.0", "added_tokens": definition.added.for_encoding()}
    learn(model, texts, trainer, described, frozenset() if definition.splits_special else "all")
    definition.add(trainer.special_tokens)


def learn(
    model: Any, texts: Iterable[str], trainer: Trainer, described: Mapping[str, Any], allowed: Special
) -> None:
    """Learn a vocabulary, and set it in the model. The trainer stores the words of the texts.

    described: JSON of the tokenizer without its model; components written in Python are included as objects.
    allowed: special tokens that texts may contain; each counts as a word.
    """
    words = words_of(texts, described, allowed, trainer.progress())
    trainer.words = dict(sorted(words.items()))
    if isinstance(trainer, BpeTrainer):
        vocab, merges = learn_words(trainer.words, trainer)
        model.replace(vocab, merges, trainer.continuing_subword_prefix, trainer.end_of_word_suffix)
    elif isinstance(trainer, WordPieceTrainer):
        vocab, _ = learn_words(trainer.words, trainer.bpe)
        prefix = trainer.bpe.continuing_subword_prefix
        model.replace(vocab, "##" if prefix is None else prefix)
    elif isinstance(trainer, WordLevelTrainer):
        model.replace(_frequent(trainer.words, trainer))
    elif isinstance(trainer, UnigramTrainer):
        from fastbpe.tokenizers.unigram_learning import learn_scores  # here: few programs train one

        scored, unk_id = learn_scores(trainer.words, trainer)
        model.take(scored, unk_id, model.options()["byte_fallback"])


def chosen(trainer: Any, model: Any) -> Trainer:
    """Return the trainer for a model: the given one (copied if it is tokenizers' own); None: the default.

    Raises TypeError if it is not a trainer, TrainingError if it trains another type of model.
    """
    if components.is_theirs(trainer):
        trainer = trainers.copied(trainer)
    found: Trainer = model.get_trainer() if trainer is None else checked_arguments.of_type(trainer, Trainer)
    if found.trains != model.kind:
        raise TrainingError(
            f"{type(found).__name__} can only train a {found.trains}; this model is a {model.kind}"
        )
    return found


def words_of(
    texts: Iterable[str], described: Mapping[str, Any], allowed: Special, progress: Progress
) -> Mapping[str, int]:
    """Return the words of texts with their counts. progress: for `Reporter`. Other arguments: as in `learn`."""
    normalizer, pre_tokenizer = described["normalizer"], described["pre_tokenizer"]
    steps = [] if pre_tokenizer is None else components.flat(pre_tokenizer)
    kinds = {step["type"] for step in steps}
    described = {**described, "model": {"type": "BPE", "vocab": {}, "merges": []}}
    carrier = None
    if not described["added_tokens"] and not is_written(described):
        to_bytes = [] if "ByteLevel" in kinds else [pre_tokenizers.ByteLevel(False, use_regex=False).state()]
        carrier = _carrier(normalizer, [*steps, *to_bytes])
    if carrier is not None:
        # The carrier counts bytes. With a ByteLevel of the tokenizer, words consist of GPT-2's byte characters.
        word_of = text_of if "ByteLevel" in kinds else bytes.decode
        return {word_of(piece): count for piece, count in _counted(texts, carrier, progress)}
    try:
        cut = _cutter(described, allowed)
    except FastbpeError as error:
        needs_tokenizers(f"training with these components ({error})")
    return Counter(word for text in texts for word in cut(text))


def _frequent(words: Mapping[str, int], trainer: WordLevelTrainer) -> dict[str, int]:
    """Return token → id: special tokens, then the most frequent words, equally frequent ones in Unicode order."""
    order = sorted(words, key=lambda word: (-words[word], word))
    kept = [word for word in order if words[word] >= trainer.min_frequency]
    tokens = [token.content for token in trainer.special_tokens] + kept
    return {token: i for i, token in enumerate(tokens[: trainer.vocab_size])}


def _cutter(described: Mapping[str, Any], allowed: Special) -> Callable[[str], list[str]]:
    """Return a function that cuts a text into words. An added token is a word."""
    if is_written(described):
        engine = WrittenEngine(described, BPE())
        return lambda text: engine.pieces(text, allowed)
    carrier = with_added(described)
    carrier.encode("")  # builds the pipeline, and with it `_special`, or raises FastbpeError
    finder, _ = carrier._special.choose(allowed, ())
    return lambda text: piece_texts(carrier._pipeline, text, finder)


def _carrier(normalizer: Any, steps: list[Any]) -> Native | None:
    """Return a tokenizer with one token per byte and these components; None if the core cannot run them."""
    try:
        made = carrier_of_bytes([], normalizer, {"type": "Sequence", "pretokenizers": steps})
    except FastbpeError:
        return None
    return made if made.mode == "byte" else None


def _counted(texts: Iterable[str], carrier: Native, progress: Progress) -> Iterable[tuple[bytes, int]]:
    """Return each piece of the texts with its count."""
    # Imported here: few programs train.
    from fastbpe._utils.progress import Reporter
    from fastbpe.corpus.corpora import ReadingOptions
    from fastbpe.training.base_vocabulary import add_pattern_of_base, vocabulary_of_base
    from fastbpe.training.options import ByteOptions
    from fastbpe.training.piece_counting import count_source

    options = ByteOptions(vocab_size=carrier.vocab_size, **add_pattern_of_base(carrier, {}))
    start = vocabulary_of_base(carrier, "keep", options)
    reporter = Reporter(progress)
    counts = count_source(
        iter(texts),
        options.pattern,
        special_tokens=(),
        reading=ReadingOptions(),
        reporter=reporter,
        of_base=start.texts,
    )
    found: Iterable[tuple[bytes, int]] = counts.items()
    return found


def texts_of(iterator: Iterable[Any]) -> Iterator[str]:
    """Yield the texts of an iterable of str, or of lists of str."""
    for item in iterator:
        for one in [item] if isinstance(item, str) else item:
            yield checked_arguments.of_type(one, str)


def lines_of(files: Iterable[str]) -> Iterator[str]:
    """Yield the lines of files, with their line endings. Raises FormatError if a file is not UTF-8."""
    for path in files:
        with open(path, encoding="utf-8", newline="\n") as file:
            try:
                yield from file
            except UnicodeDecodeError:
                raise FormatError(f"{path}: not UTF-8; convert the file to UTF-8 first") from None
