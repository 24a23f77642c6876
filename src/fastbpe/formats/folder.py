"""Find the files of a tokenizer in a model's folder, by file names only."""

from __future__ import annotations

from pathlib import Path

from fastbpe.errors import FormatError
from fastbpe.formats import gpt2

JSON, SPIECE = "tokenizer.json", "spiece.model"
#: Files that hold a tokenizer. The first is preferred, as by AutoTokenizer; the order of the others is only fixed.
ALONE = (
    JSON,
    "tokenizer.model",
    "tekken.json",
    "tiktoken.model",
    SPIECE,
    "sentencepiece.bpe.model",
    "sentencepiece.model",
    "spm.model",
)
BERT_VOCABULARY, CODES = "vocab.txt", "bpe.codes"  # beside bpe.codes, vocab.txt is PhoBERT's
#: Files that contain only a part of a tokenizer → description and way out, for errors.
_HALVES = {
    "source.spm": "one of MarianTokenizer's files; the folder also needs target.spm, vocab.json, and the class in "
    "tokenizer_config.json or the model_type in config.json; source.spm loaded by its path gives other ids",
    CODES: "a list of merges without ids; PhoBERT's folder also needs vocab.txt, and the class in "
    "tokenizer_config.json; for other codes, load bpe.codes by its path, and the error says what to write",
}
_PATTERNS = ("tokenizer.model.v*", "*.tiktoken", "*.fbpe", "*.gguf")


def find_pair(folder: str) -> tuple[str, ...]:
    """Find the two files of GPT-2's format in a folder; () if they are not there."""
    for pair in gpt2.ALL_NAMES:
        paths = tuple(str(Path(folder) / name) for name in pair)
        if all(map(Path.is_file, map(Path, paths))):
            return paths
    return ()


def find(folder: str, *, beside_json: bool = False) -> tuple[str, ...]:
    """Find the file of a folder's tokenizer, or the two files of GPT-2's format.

    beside_json: look for files beside a tokenizer.json; () if it stands alone.

    Raises:
        FormatError: the folder contains no tokenizer, or several of one kind.
    """
    where = Path(folder)
    for name in ALONE[1:] if beside_json else ALONE:  # JSON is the first
        if (where / name).is_file():
            return (str(where / name),)
    if pair := find_pair(folder):
        return pair
    if (where / BERT_VOCABULARY).is_file() and not (where / CODES).is_file():
        return (str(where / BERT_VOCABULARY),)
    for pattern in _PATTERNS:
        found = sorted(path for path in where.glob(pattern) if path.is_file())
        if len(found) > 1:
            names = ", ".join(path.name for path in found)
            raise FormatError(
                f"{folder}: this folder contains {len(found)} {pattern} files: {names}; pass the path of one"
            )
        if found:
            return (str(found[0]),)
    # A half beside a tokenizer.json: the class does not read the latter, and some of its own files are missing.
    if beside_json and not any((where / name).is_file() for name in _HALVES):
        return ()
    pairs = (" with ".join(pair) for pair in gpt2.ALL_NAMES)
    looked_for = ", ".join([*ALONE, *pairs, BERT_VOCABULARY, *_PATTERNS])
    for name, way_out in _HALVES.items():
        if (where / name).is_file():
            raise FormatError(f"{folder}: no tokenizer in this folder that fastbpe reads; {name} is {way_out}")
    if (where / "vocab.json").is_file():
        raise FormatError(
            f"{folder}: no tokenizer in this folder that fastbpe reads; vocab.json is a vocabulary without its "
            "merges.txt: add that file; a vocabulary of characters, such as Wav2Vec2CTCTokenizer's, has no "
            "merges: encode with transformers"
        )
    pickles = sorted(path.name for path in where.glob("tokenizer*.pkl"))
    hint = f"; {pickles[0]} is a pickle: load it by its path, and the error says what to do" if pickles else ""
    raise FormatError(f"{folder}: no tokenizer in this folder; looked for {looked_for}{hint}")
