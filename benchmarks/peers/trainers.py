"""Trainers: from documents and a split pattern to the learned tokens in order, without the 256 bytes.

Each has the name of the rule by which it breaks ties between equally frequent pairs, in fastbpe's terms; trainers
of one rule must learn the same tokens. Code-point trainers return the lines of a `.vocab` file.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fastbpe.formats.byte_level import BYTE_OF_CHARACTER
from fastbpe.model import N_BYTES
from peers import Unsupported
from peers.splitters import for_oniguruma, text_of


class Learned(NamedTuple):
    """Tokens in order, and the seconds of each phase for trainers that report them."""

    tokens: list[bytes]
    phases: dict[str, float]


#: Train from documents, or from a file that is one, with a vocabulary size and the name of a pattern.
Train = Callable[["list[str] | Path", int, str], Learned]

SEPARATOR = "\x00"  # between documents, for trainers that read only files; no training text holds it

_BEFORE_WORD = re.compile(r"(?<=[a-z])(?= [a-z])")


def _fastbpe(ties: str) -> Train:
    def train(documents: list[str] | Path, vocab_size: int, pattern_name: str) -> Learned:
        import fastbpe

        began: dict[str, float] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fastbpe.TrainingWarning)
            tokenizer = fastbpe.train(
                documents,
                vocab_size=vocab_size,
                pattern=pattern_name,
                ties=ties,
                progress=lambda phase, done, total: began.setdefault(phase, time.perf_counter()),
            )
        began["end"] = time.perf_counter()
        phases = {
            name: end - start for (name, start), end in zip(began.items(), [*began.values()][1:], strict=False)
        }
        return Learned(tokenizer.vocab[256:], phases)

    return train


def _rustbpe(documents: list[str] | Path, vocab_size: int, pattern_name: str) -> Learned:
    import rustbpe

    tokenizer = rustbpe.Tokenizer()
    tokenizer.train_from_iterator(_parts(documents), vocab_size, pattern=text_of(pattern_name))
    ranked = sorted(tokenizer.get_mergeable_ranks(), key=lambda item: item[1])
    return Learned([bytes(token) for token, _ in ranked][256:], {})


def _parts(documents: list[str] | Path) -> Iterator[str]:
    """Yield documents, or a file a megabyte at a time, cut before a word, where every pattern splits."""
    if not isinstance(documents, Path):
        yield from documents
        return
    rest = ""
    with documents.open(encoding="utf-8", newline="") as file:
        while part := file.read(1 << 20):
            part = rest + part
            cut = max(
                (match.start() for match in _BEFORE_WORD.finditer(part, max(0, len(part) - 4096))),
                default=len(part),
            )
            rest = part[cut:]
            yield part[:cut]
    yield rest


def _bpeasy(documents: list[str] | Path, vocab_size: int, pattern_name: str) -> Learned:
    import bpeasy

    ranks = bpeasy.train_bpe(_parts(documents), text_of(pattern_name), 1 << 20, vocab_size)
    return Learned(sorted(ranks, key=ranks.__getitem__)[256:], {})


def _tokenizers(documents: list[str] | Path, vocab_size: int, pattern_name: str) -> Learned:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    split = pre_tokenizers.Split(Regex(for_oniguruma(text_of(pattern_name))), "isolated")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, initial_alphabet=alphabet, special_tokens=[], show_progress=False
    )
    tokenizer.train_from_iterator(_parts(documents), trainer)
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return Learned(
        [bytes(BYTE_OF_CHARACTER[character] for part in pair for character in part) for pair in merges], {}
    )


def _gigatoken(documents: list[str] | Path, vocab_size: int, pattern_name: str) -> Learned:
    import gigatoken

    if pattern_name != "gpt2":
        raise Unsupported("trains with the gpt2 pattern only")
    vocab, _ = gigatoken.train_bpe(
        SEPARATOR.join(_parts(documents)).encode(), vocab_size, [], "raw_token_ids", SEPARATOR.encode()
    )
    return Learned([vocab[token_id] for token_id in sorted(vocab)][256:], {})


def _fastbpe_lines(documents: list[str] | Path, vocab_size: int, pattern_name: str) -> Learned:
    *lines, rest = "".join(_parts(documents)).split("\n")
    return _fastbpe("huggingface")([*(line + "\n" for line in lines), rest], vocab_size, pattern_name)


def _gigabpe(documents: list[str] | Path, vocab_size: int, pattern_name: str) -> Learned:
    """Train gigabpe, which reads files only, and takes each line for a document."""
    import gigabpe

    if pattern_name != "gpt2":
        raise Unsupported("trains with the gpt2 pattern only")
    text = "".join(_parts(documents)).encode()
    with tempfile.TemporaryDirectory(prefix="fastbpe-bench-") as folder:
        path = Path(folder) / "text.txt"
        path.write_bytes(text)
        n_ids = vocab_size - N_BYTES + len(set(text))  # its ids begin with the bytes that occur
        _, merges = gigabpe.train_bpe([str(path)], n_ids, special_tokens=[], pretokenizer="bytelevel")
    return Learned([bytes(BYTE_OF_CHARACTER[c] for part in pair for c in part) for pair in merges], {})


def _fastbpe_code_points(documents: list[str] | Path, vocab_size: int, pattern_name: str) -> Learned:
    from fastbpe._utils.progress import Reporter
    from fastbpe.corpus.corpora import ReadingOptions
    from fastbpe.formats.sentencepiece import model_file
    from fastbpe.training.codepoint_model import vocabulary_text
    from fastbpe.training.codepoints import learn_source
    from fastbpe.training.options import Run

    began: dict[str, float] = {}
    reporter = Reporter(lambda phase, done, total: began.setdefault(phase, time.perf_counter()))
    model, _ = learn_source(documents, None, Run(vocab_size, {}, ReadingOptions(), reporter))
    model_file.dump(model)  # sentencepiece writes a model, too
    vocabulary = vocabulary_text(model).splitlines()
    phases = {
        "counting": began["learning"] - began["counting"],
        "learning": time.perf_counter() - began["learning"],
    }
    return Learned(vocabulary, phases)


def _sentencepiece(documents: list[str] | Path, vocab_size: int, pattern_name: str) -> Learned:
    import sentencepiece

    source: dict[str, Any] = {"input": str(documents)}
    if isinstance(documents, list):
        source = {"sentence_iterator": (line for document in documents for line in document.split("\n"))}
    with tempfile.TemporaryDirectory(prefix="fastbpe-bench-") as folder:
        prefix = Path(folder) / "m"
        sentencepiece.SentencePieceTrainer.train(
            **source, model_prefix=str(prefix), vocab_size=vocab_size, model_type="bpe", minloglevel=2
        )
        return Learned(prefix.with_suffix(".vocab").read_bytes().splitlines(), {})


LINES = "huggingface, each line a document"
CODE_POINTS = "sentencepiece"  # the rule of trainers that learn pieces of characters

#: Name → rule for ties, and the function that trains.
TRAINERS: dict[str, tuple[str, Train]] = {
    "fastbpe": ("pair", _fastbpe("pair")),
    "rustbpe": ("pair", _rustbpe),
    "bpeasy": ("pair", _bpeasy),
    "gigatoken": ("pair", _gigatoken),
    'fastbpe, ties="huggingface"': ("huggingface", _fastbpe("huggingface")),
    "tokenizers": ("huggingface", _tokenizers),
    "fastbpe, documents are lines": (LINES, _fastbpe_lines),
    "gigabpe": (LINES, _gigabpe),
    "fastbpe, mode=codepoint": (CODE_POINTS, _fastbpe_code_points),
    "sentencepiece": (CODE_POINTS, _sentencepiece),
}


def documents_of(path: Path, n_bytes: int) -> list[str]:
    """Cut a text file into documents of about n_bytes, as every trainer gets them."""
    from texts import cut

    return cut(path.read_text(encoding="utf-8").replace(SEPARATOR, " "), n_bytes)


def trainers_of(mode: str) -> list[str]:
    """Return the names of the trainers of a mode; byte mode includes sentencepiece, for information."""
    of_code_points = [name for name, (rule, _) in TRAINERS.items() if rule == CODE_POINTS]
    if mode == "codepoint":
        return of_code_points
    return [name for name in TRAINERS if name not in of_code_points or not name.startswith("fastbpe")]
