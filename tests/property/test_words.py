"""Code-point text is split before merging: no piece of the vocabulary spans a split.

Every SIMD path splits like the scalar one, which splits only between characters that are adjacent in no piece.
"""

import random
from functools import lru_cache

import pytest

from fastbpe._core.merge.codepoint_symbols import CodePoints
from fastbpe._core.split.scanner import WordScanner, paths
from fastbpe.formats.sentencepiece import model_file as sentencepiece_format
from fastbpe.model import CodePointModel, PieceType
from helpers.codepoint_models import PUBLISHED, hard_text, model_of, published_model
from helpers.sampling import FULL, n_rounds
from helpers.shared_data import corpus

METASPACE = "▁"
N_TEXTS = n_rounds(300, 20_000)


class Words:
    """The scanners of a model, one for each SIMD path, and the character pairs that are adjacent in its pieces."""

    def __init__(self, model: CodePointModel) -> None:
        code_points = CodePoints(
            model.piece_bytes,
            model.piece_ends,
            model.scores,
            model.types,
            escapes=model.normalizer["escape_whitespaces"],
            unknown_id=0,
            byte_ids=None,
        )
        self.marks_spaces = code_points.marks_spaces
        self.scanners = [WordScanner(code_points, path=path) for path in paths()]
        merged = (PieceType.NORMAL, PieceType.USER_DEFINED, PieceType.UNUSED)
        self.side_by_side: set[str] = set()
        for piece, kind in zip(model.pieces, model.types, strict=True):
            is_possible = not (
                self.marks_spaces and b" " in piece
            )  # spaces are escaped, so no text has a space then
            if kind in merged and is_possible:
                text = self.spaced(piece.decode(errors="replace"))
                self.side_by_side.update(text[i : i + 2] for i in range(len(text) - 1))

    def spaced(self, text: str) -> str:
        return text.replace(METASPACE, " ") if self.marks_spaces else text

    def check(self, text: str) -> None:
        scalar = self.scanners[-1]
        ends = scalar.ends(text)
        for scanner in self.scanners:
            assert scanner.ends(text) == ends, (scanner, text)
        data = text.encode()
        assert ends[-1:] == ([len(data)] if data else [])
        spaced = self.spaced(text)
        begin = [0]
        for character in text:
            begin.append(begin[-1] + len(character.encode()))
        characters = {at: i for i, at in enumerate(begin)}
        for end in ends[:-1]:
            i = characters[end]  # no character is split
            assert spaced[i - 1 : i + 1] not in self.side_by_side, (text, i)


@lru_cache
def published(name: str) -> Words:
    return Words(published_model(name))


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", PUBLISHED)
def test_no_piece_of_a_published_model_spans_a_split(name: str) -> None:
    rng = random.Random(name)
    words = published(name)
    for file in ("english.txt", "multilingual.txt", "emoji_mixed.txt", "wagahaiwa_nekodearu.txt"):
        text = corpus(file, n_rounds(20_000, 2_000_000))
        words.check(text)
        words.check(text.replace(" ", METASPACE))
    pieces = [piece.decode(errors="replace") for piece in published_model(name).pieces]
    for _ in range(N_TEXTS):
        words.check(hard_text(rng).decode(errors="replace"))
        words.check("".join(rng.choices(pieces, k=rng.randint(1, 60))))


@pytest.mark.parametrize("name", PUBLISHED)
def test_english_text_is_split_at_every_word(name: str) -> None:
    """Splitting is useful too: hardly any English piece is longer than a word."""
    text = "The quick brown fox jumps over the lazy dog and is surprised by nobody at all"
    scanner = published(name).scanners[0]
    assert len(scanner.ends(text)) >= len(text.split())


def test_no_piece_of_a_random_vocabulary_spans_a_split() -> None:
    rng = random.Random(1)
    alphabets = ["ab ▁", "ab.▁é", "aé日😀▁ ", "\n\r\0a▁", "".join(map(chr, range(0x20, 0x80))) + "▁▁▁"]
    for _ in range(n_rounds(60, 600)):
        alphabet = rng.choice(alphabets)
        texts = {"".join(rng.choices(alphabet, k=rng.randint(1, 5))) for _ in range(rng.randint(1, 30))}
        if rng.random() < 0.5:
            texts = {text.replace(METASPACE, "")[:4] for text in texts} | {METASPACE, METASPACE + "a"}
        kinds = [PieceType.NORMAL, PieceType.NORMAL, PieceType.UNUSED, PieceType.USER_DEFINED]
        pieces = [
            (text.encode(), -float(rng.randrange(5)), rng.choice(kinds))
            for text in sorted(texts)
            if "\0" not in text and text
        ]
        if not pieces:
            continue
        data = model_of([(b"<unk>", 0.0, PieceType.UNKNOWN), *pieces])
        words = Words(sentencepiece_format.parse(data, "made"))
        for _ in range(20):
            words.check("".join(rng.choices(alphabet + " xyz", k=rng.randint(1, 200))))


def test_splits_at_block_borders_equal_the_scalar_path() -> None:
    """Every kind of split at every position of three blocks of 64 bytes."""
    words = published("llama2")
    for middle in (" a", "  a", " ▁a", "▁▁", "é ", "日 本", "a\nb", "\n\n ", "\0", "😀 ", ". A", "'s "):
        for filler in ("a", " ", "é", "."):
            for n in range(200) if FULL else [*range(0, 200, 7), 62, 63, 64, 65, 127, 128]:
                words.check(filler * n + middle + filler * 70)
