"""SentencePieceTrainer: sentencepiece's options, translated for fastbpe's training."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from fastbpe._utils.file_statuses import status_of
from fastbpe._utils.plurals import counted
from fastbpe._utils.progress import Reporter
from fastbpe._utils.threads import usable_threads
from fastbpe.errors import SpecError
from fastbpe.formats import atomic_files
from fastbpe.formats.sentencepiece import model_file as sentencepiece_format
from fastbpe.formats.sentencepiece import protobuf, specs
from fastbpe.model import Spec
from fastbpe.sentencepiece._errors import ArgumentError, ArgumentTypeError, TrainerError
from fastbpe.sentencepiece._model import MODEL_TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import IO, Any

    from fastbpe.training.codepoint_model import CodePointReport

_BLOCK = 1 << 20  # bytes of a file that are read at a time

# sentencepiece 0.2.3 takes these options and ignores them.
_DEPRECATED = (
    "accept_language",
    "self_test_sample_size",
    "mining_sentence_size",
    "training_sentence_size",
    "train_extremely_large_corpus",
    "enable_differential_privacy",
    "differential_privacy_noise_level",
    "differential_privacy_clipping_threshold",
)


class SentencePieceTrainer:
    """Train models of type unigram (the default), bpe, word or char with sentencepiece's options.

    The files equal sentencepiece 0.2.3's; for unigram models, only on x86-64 Linux.
    """

    @staticmethod
    def Train(arg: str | None = None, logstream: IO[Any] | None = None, **kwargs: Any) -> bool | None:
        r"""Train a model, and write its `.model` and `.vocab` files, or pass it to a writer.

        Args:
            arg: all options in one string, "--input=botchan.txt --model_prefix=m --model_type=bpe". Then logstream
                is the only other argument that counts, and the method returns True instead of None.
            logstream: file for a report: numbers of sentences, distinct words and merges, and notes on lines and
                characters that were left out.
            sentence_iterator: iterator of sentences (str or bytes), in place of `input`.
            model_writer: object with a method write(bytes), in place of `model_prefix`.
            normalizer: a SentencePieceNormalizer, in place of options about normalization.
            pretokenizer: function that splits a normalized sentence into parts, so that no piece spans two of
                them. Only for BPE and unigram models.
            allow_inconsistent_pretokenization: whether the joined parts may differ from the sentence.
            **kwargs: sentencepiece's options by name; a list for an option with several values.

        Raises:
            RuntimeError, ValueError, TypeError: as in sentencepiece; each message ends like sentencepiece's.

        >>> import io
        >>> model = io.BytesIO()
        >>> SentencePieceTrainer.train(sentence_iterator=iter(["ab ab abc", "abcd ab"]), model_writer=model,
        ...                            model_type="bpe", vocab_size=12)
        >>> b"abcd" in model.getvalue()
        True
        """
        with _as_sentencepiece_raises():
            if isinstance(arg, str):
                _train(_flags(arg), logstream)
                return True
            given = dict(kwargs)
            iterator = given.pop("sentence_iterator", None)
            if "sentence_reader" in given:
                iterator = given.pop("sentence_reader")
            writer = given.pop("model_writer", None)
            normalizer = given.pop("normalizer", None)
            cut = given.pop("pretokenizer", None)
            is_checked = not given.pop("allow_inconsistent_pretokenization", False)
            options = {name: _text(value) for name, value in given.items()}
            _train(
                options,
                logstream,
                iterator=iterator,
                writer=writer,
                normalizer=_spec_of(normalizer),
                cut=None if cut is None else _cutting(cut),
                is_checked=is_checked,
            )
        return None

    train = Train


def _train(
    options: Mapping[str, str],
    logstream: IO[Any] | None,
    *,
    iterator: Any = None,
    writer: Any = None,
    normalizer: Spec | None = None,
    cut: Callable[[str], list[str]] | None = None,
    is_checked: bool = True,
) -> None:
    """Train a model, and write it. The arguments are as in `Train`, but checked or converted:

    options: sentencepiece's options, as texts by name.
    normalizer: the rules of the SentencePieceNormalizer.
    cut: function that calls the pretokenizer; is_checked: its joined parts must equal the sentence.
    """
    # Imported here: importing them takes as long as importing all that encoding needs.
    from fastbpe.corpus.corpora import ReadingOptions
    from fastbpe.training.codepoint_model import vocabulary_text
    from fastbpe.training.codepoint_options import NO_PRETOKENIZER, CodePointOptions
    from fastbpe.training.codepoints import learn_frequent, learn_model
    from fastbpe.training.sentences import Pretokenizer, SentenceSource
    from fastbpe.training.unigram import learn_unigram

    if not re.fullmatch(r"\s*[+-]?[0-9]+\s*", options.get("minloglevel", "0")):
        raise SpecError("minloglevel is not an integer", "[absl::SimpleAtoi(value, &v)] ")
    if iterator is not None and not isinstance(iterator, Iterator):
        raise ArgumentTypeError(
            "sentence_iterator must be an iterator, such as iter(sentences): "
            f"Object of type '{type(iterator).__name__}' is not an instance of 'iterator'"
        )
    used = {name: value for name, value in options.items() if name not in (*_DEPRECATED, "minloglevel")}
    checked = CodePointOptions.of(used, normalizer, MODEL_TYPES, default_type=None)
    trainer = checked.trainer
    if (iterator is None) != bool(trainer["input"]):
        raise SpecError(
            "pass the sentences either as input or as sentence_iterator",
            "SentenceIterator and trainer_spec.input() must be exclusive.",
        )
    if (writer is None) != bool(trainer["model_prefix"]):
        raise SpecError(
            "pass either model_prefix or model_writer, to say where the model is written",
            "ModelProto and trainer_spec.model_prefix() must be exclusive.",
        )
    if cut is not None and trainer["pretokenization_delimiter"]:
        raise SpecError(
            "pass either a pretokenizer or a pretokenization_delimiter",
            "pretokenizer callback and pretokenization_delimiter cannot be set simultaneously.",
        )
    model_type = trainer["model_type"]
    if cut is not None and model_type not in ("bpe", "unigram"):
        raise SpecError(
            f"a pretokenizer is for BPE and unigram models, not for type {model_type}; leave it out",
            NO_PRETOKENIZER,
        )
    learn = {"bpe": learn_model, "unigram": learn_unigram}.get(model_type, learn_frequent)
    texts = _documents(trainer["input"]) if iterator is None else _sentences(iterator)
    pretokenizer = None if cut is None else Pretokenizer(cut, is_checked)
    source = SentenceSource(texts=texts, are_sentences=iterator is not None, pretokenizer=pretokenizer)
    reading = ReadingOptions(num_threads=min(trainer["num_threads"], usable_threads(None)))
    model, report = learn(source, checked, reading, Reporter(False))
    if writer is not None:
        writer.write(sentencepiece_format.dump(model))
    else:
        _write(f"{trainer['model_prefix']}.model", sentencepiece_format.dump(model))
        _write(f"{trainer['model_prefix']}.vocab", vocabulary_text(model))
    if logstream is not None:
        logstream.write("".join(f"{line}\n" for line in _log_lines(report, trainer)))


def _cutting(pretokenizer: Callable[[str], Sequence[str | bytes]]) -> Callable[[str], list[str]]:
    def cut(text: str) -> list[str]:
        try:
            parts = pretokenizer(text)
            # `+ ""` raises TypeError for other types.
            return [part.decode() if isinstance(part, bytes) else part + "" for part in parts]
        except Exception as error:
            raise TrainerError(f"Pretokenizer failed: {type(error).__name__}: {error}") from error

    return cut


def _flags(text: str) -> dict[str, str]:
    """Parse options: words between single spaces, --name=value or --name. The first one of a name counts."""
    flags: dict[str, str] = {}
    for word in text.split(" ") if text else []:
        name, _, value = word.removeprefix("--").partition("=")
        flags.setdefault(name, value)
    return flags


def _text(value: object) -> str:
    """Return a value as sentencepiece's Python package writes it for its trainer."""
    if not isinstance(value, list):
        return str(value)
    import csv  # here, as few options are lists

    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([str(item) for item in value])
    return line.getvalue()


def _spec_of(normalizer: Any) -> Spec | None:
    if not normalizer:
        return None
    try:
        return specs.read(specs.NORMALIZER, normalizer.serialized_normalizer_spec())
    except protobuf.Damaged as damaged:
        raise SpecError(
            f"the normalizer's spec is damaged: byte {damaged.at}: {damaged.reason}",
            "Failed to parse _serialized_normalizer_spec.",
        ) from None


def _documents(paths: Iterable[str]) -> Iterator[bytes]:
    """Yield the contents of files in parts of many whole lines."""
    for path in paths:
        with _file_errors(path), open(path, "rb") as file:
            waiting: list[bytes] = []  # parts of a line, until its end has been read
            while block := file.read(_BLOCK):
                end = block.rfind(b"\n") + 1
                if end:
                    yield b"".join([*waiting, block[:end]])
                    waiting.clear()
                waiting.append(block[end:])
            yield b"".join(waiting)  # b"" if the file ends with a line ending: no sentence


def _sentences(iterator: Iterator[Any]) -> Iterator[bytes]:
    """Yield the sentences of an iterator, without their line endings."""
    is_first = True
    while True:
        try:
            item = next(iterator)
        except StopIteration:
            return
        except Exception as error:
            if is_first:  # sentencepiece reads the first sentence before it trains
                raise
            text = f"{type(error).__name__}: {error}"
            raise SpecError(f"the iterator of sentences has failed: {text}", text) from error
        is_first = False
        if isinstance(item, str):
            try:
                item = item.encode()
            except UnicodeEncodeError as error:
                raise SpecError(f"a sentence is not text: {error}", str(error)) from None
        elif not isinstance(item, bytes):
            message = "Iterator must return str or bytes."
            raise SpecError(f"{message} It returned {type(item).__name__}", message, "INVALID_ARGUMENT")
        yield item.rstrip(b"\r\n")


def _write(path: str, data: bytes) -> None:
    with _file_errors(path):
        atomic_files.write(path, data)


@contextmanager
def _file_errors(path: str) -> Iterator[None]:
    """Turn an OSError into a SpecError with sentencepiece's message. path: the file that is opened or written."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise SpecError(f"{path}: {error.strerror}", f'"{path}": {reason}', status_of(error)) from error


@contextmanager
def _as_sentencepiece_raises() -> Iterator[None]:
    """Turn a SpecError into the exception that sentencepiece raises, with the same end of the message."""
    try:
        yield
    except SpecError as error:
        kind = ArgumentError if error.code == "INVALID_ARGUMENT" else TrainerError
        # Some messages of sentencepiece are only a line of its source code: fastbpe puts a reason before it.
        detail = f"{error} {error.detail}" if error.detail.startswith("[") else error.detail
        raise kind(f"{error.code}: {detail}") from error


def _log_lines(report: CodePointReport, trainer: Spec) -> list[str]:
    return [
        f"{counted(report.n_sentences, 'sentence')}, {counted(report.n_distinct_words, 'distinct word')}, "
        f"{counted(report.n_merges, 'merge')}",
        *report.notes(trainer),
    ]
