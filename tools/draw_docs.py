"""Draw the SVG pictures of the documentation, in docs/static/drawings/.

    python tools/draw_docs.py            write the files
    python tools/draw_docs.py --check    fail if a file is not what this script draws

Tokens and pieces come from fastbpe, but for steps inside a call, which no method shows: their examples are written
out below.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from html import escape
from itertools import pairwise
from pathlib import Path

import fastbpe

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "static" / "drawings"
SIZES = ROOT / "benchmarks" / "records" / "2026-11-25-vocabulary-sizes.json"  # of tools/vocabulary_sizes.py
WIDTH = 1024  # of the embedding in the chart of sizes
COLOURS = ("#fde2cf", "#d7e8f7", "#dff0d8", "#f3e1f1", "#fff3c4", "#e3e3f7")
SPECIAL, EMPTY, EDGE = "#f4b183", "#fff", "#555"
BOX_HEIGHT, PER_CHARACTER, PADDING, GAP = 26, 8.4, 12, 4  # pixels


class Picture:
    """SVG that grows downwards.

    Attributes:
        top: float – y of the next row, in pixels.
    """

    def __init__(self, width: int) -> None:
        self.width, self.top = width, 8.0
        self._parts: list[str] = []

    def text(self, words: str, *, x: float = 8, bold: bool = False, y: float | None = None) -> None:
        """Write a line, by default on a row of its own."""
        weight = ' font-weight="bold"' if bold else ""
        self._parts.append(
            f'<text x="{x:g}" y="{(self.top + 14) if y is None else y:g}"{weight}>{escape(words)}</text>'
        )
        if y is None:
            self.top += 22

    def boxes(
        self, labels: Sequence[str], *, x: float = 8, fills: Sequence[str] = (), below: Sequence[str] = ()
    ) -> list[float]:
        """Draw a row of boxes, as wide as their labels.

        Args:
            labels: text in each box.
            x: left edge of the first.
            fills: colour of each; by default they alternate.
            below: text under each.

        Returns:
            x of the middle of each box.
        """
        middles = []
        for number, label in enumerate(labels):
            under = below[number] if below else ""
            width = max(len(label), len(under)) * PER_CHARACTER + PADDING
            fill = fills[number] if fills else COLOURS[number % len(COLOURS)]
            self._parts.append(
                f'<rect x="{x:g}" y="{self.top:g}" width="{width:g}" height="{BOX_HEIGHT}" rx="4" fill="{fill}" '
                f'stroke="{EDGE}"/>'
            )
            middle = x + width / 2
            self._centred(label, middle, self.top + 17)
            if under:
                self._centred(under, middle, self.top + BOX_HEIGHT + 15)
            middles.append(middle)
            x += width + GAP
        self.top += BOX_HEIGHT + (28 if below else 8)
        return middles

    def arrow(self, x: float, y: float, to_x: float, to_y: float, label: str = "") -> None:
        """Draw an arrow, with a word beside its middle."""
        self._parts.append(
            f'<path d="M{x:g} {y:g}L{to_x:g} {to_y:g}" stroke="{EDGE}" fill="none" marker-end="url(#head)"/>'
        )
        if label:
            self._parts.append(
                f'<text x="{(x + to_x) / 2 + 6:g}" y="{(y + to_y) / 2 + 4:g}">{escape(label)}</text>'
            )

    def line(self, points: Sequence[tuple[float, float]], colour: str, *, width: float = 1) -> None:
        """Draw a line through points."""
        path = "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
        self._parts.append(f'<path d="{path}" stroke="{colour}" stroke-width="{width:g}" fill="none"/>')

    def _centred(self, label: str, x: float, y: float) -> None:
        self._parts.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="middle" xml:space="preserve" '
            f'font-family="ui-monospace,monospace">{escape(label)}</text>'
        )

    def svg(self) -> str:
        """Return the file."""
        height = self.top + 4
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {height:g}" '
            f'width="{self.width}" height="{height:g}" font-family="system-ui,sans-serif" font-size="13" '
            'fill="#222">\n'
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{EDGE}"/></marker></defs>\n'
            f'<rect width="{self.width}" height="{height:g}" fill="#fff"/>\n'
            + "\n".join(self._parts)
            + "\n</svg>\n"
        )


def first_merges() -> Picture:
    """Draw the text of the first lesson after each of three merges."""
    picture = Picture(470)
    text = "aaabdaaabac"
    for n_merges in range(4):
        tokenizer = fastbpe.train([text], vocab_size=256 + n_merges, pattern=None, ties="first", progress=False)
        tokens = [token.decode() for token in map(tokenizer.id_to_token, tokenizer.encode(text))]
        if n_merges:
            left, right = (tokenizer.vocab[token].decode() for token in tokenizer.merges[-1])
            picture.text(f"merge {n_merges}: {left} + {right} becomes {255 + n_merges}")
        fills = [COLOURS[min(len(token), 4)] for token in tokens]
        picture.boxes(tokens, fills=fills)
    return picture


def pieces() -> Picture:
    """Draw a line of code in the pieces of two patterns."""
    picture = Picture(560)
    text = "HOW'S 1234567?\n\n    return x"
    for name, called in (("gpt2", "GPT-2"), ("cl100k", "GPT-4")):
        tokenizer = fastbpe.train([text], vocab_size=256, pattern=name, progress=False)
        picture.text(called, bold=True)
        cut = [text[start:end].replace(" ", "·").replace("\n", "⏎") for start, end in tokenizer.pieces(text)]
        picture.boxes(cut)
    return picture


def special_token() -> Picture:
    """Draw one text with its special token allowed, and as plain text."""
    picture = Picture(560)
    tokenizer = fastbpe.train(["What does mean?"] * 9, vocab_size=268, special_tokens=["<|end|>"], progress=False)
    text = "does <|end|> mean"
    for title, ids in (
        (
            'encode(text, allowed_special="all"): one id that no text can have',
            tokenizer.encode(text, allowed_special="all"),
        ),
        ("encode_ordinary(text): the characters, like any others", tokenizer.encode_ordinary(text)),
    ):
        picture.text(title, bold=True)
        tokens = [token.decode().replace(" ", "·") for token in map(tokenizer.id_to_token, ids)]
        fills = [
            SPECIAL if token in tokenizer.special_tokens.values() else COLOURS[number % len(COLOURS)]
            for number, token in enumerate(ids)
        ]
        picture.boxes(tokens, fills=fills, below=[str(token) for token in ids])
    return picture


def encoding() -> Picture:
    """Draw the way of a text to its ids."""
    picture = Picture(560)
    picture.text("text", bold=True)
    picture.boxes(["the lowest the"], fills=[EMPTY])
    picture.arrow(70, picture.top - 6, 70, picture.top + 12, "the splitter cuts pieces")
    picture.top += 18
    middles = picture.boxes(["the", "·lowest", "·the"])
    picture.arrow(70, picture.top - 6, 70, picture.top + 12, "the piece cache looks each up")
    picture.top += 18
    picture.boxes(["met: 275", "new: gap", "met: 281"], fills=[COLOURS[2], SPECIAL, COLOURS[2]])
    picture.arrow(70, picture.top - 6, 70, picture.top + 12, "new pieces wait, and are merged 128 at a time")
    picture.top += 18
    picture.boxes(["·low", "est"], x=middles[1] - 30)
    picture.arrow(70, picture.top - 6, 70, picture.top + 12, "their ids fill the gaps")
    picture.top += 18
    picture.boxes(["275", "290", "268", "281"])
    return picture


def piece_cache() -> Picture:
    """Draw an entry of the piece cache, and the three passes over a group of pieces."""
    picture = Picture(600)
    tokenizer = fastbpe.train(["the lowest of the low"] * 9, vocab_size=262, pattern="gpt2", progress=False)
    piece = " lowest"
    ids = tokenizer.encode(piece)
    picture.text("an entry of 32 bytes; its key is the piece itself, so the look-up is exact", bold=True)
    picture.boxes(
        [piece.replace(" ", "·"), "zeros", str(len(piece)), " ".join(map(str, ids)), str(len(ids))],
        fills=[COLOURS[0], EMPTY, COLOURS[1], COLOURS[2], COLOURS[3]],
        below=["up to 15 bytes", "", "its length", "up to 6 ids", "how many"],
    )
    picture.text("a line of the processor's cache, 64 bytes: two entries, one wait for memory", bold=True)
    picture.boxes(
        ["entry", "entry", "entry", "entry", "empty", "entry"], fills=[*COLOURS[:2] * 2, EMPTY, COLOURS[1]]
    )
    for x in (8, 124, 240):
        picture.line([(x, picture.top - 4), (x + 110, picture.top - 4)], EDGE, width=2)
    picture.top += 8
    for title, labels, fills in (
        ("1. hash the keys of 128 pieces", ["·the", "·lowest", "·of", "…"], [EMPTY] * 4),
        ("2. prefetch the line of each", ["line 7", "line 2", "line 9", "…"], [COLOURS[1]] * 4),
        (
            "3. read: ids, or a gap for a new piece",
            ["ids", "gap", "ids", "…"],
            [COLOURS[2], SPECIAL, COLOURS[2], EMPTY],
        ),
    ):
        picture.text(title, bold=True)
        picture.boxes(labels, fills=fills)
    picture.text("128 new pieces are merged together, and their ids fill the gaps", bold=True)
    picture.boxes(["gap: ·lowest", "gap: ·wider", "gap: ·newest", "…"], fills=[SPECIAL] * 4)
    return picture


def safe_cuts() -> Picture:
    """Draw a text that two threads share, cut where no piece can cross."""
    picture = Picture(560)
    text = "one long text is cut here and goes on"
    tokenizer = fastbpe.train([text], vocab_size=256, pattern="cl100k", progress=False)
    cut = [text[start:end] for start, end in tokenizer.pieces(text)]
    at = len(cut) // 2 + 1
    picture.text("pieces; a cut between a letter and a space is a cut between pieces", bold=True)
    fills = [COLOURS[0 if number < at else 1] for number in range(len(cut))]
    picture.boxes([piece.replace(" ", "·") for piece in cut], fills=fills)
    picture.text("each part by itself has the same pieces, so two threads may take one each", bold=True)
    picture.boxes(["".join(cut[:at]).replace(" ", "·"), "".join(cut[at:]).replace(" ", "·")], fills=COLOURS[:2])
    return picture


def scanner() -> Picture:
    """Draw the masks by which a block of text is cut into words."""
    picture = Picture(560)
    text = "cut at 42 words"
    rows = {
        "text": list(text.replace(" ", "·")),
        "letters": [str(int(character.isalpha())) for character in text],
        "letters shifted by one": [str(int(before.isalpha())) for before in "." + text[:-1]],
    }
    rows["letters & ~shifted: words begin"] = [
        str(int(is_letter == "1" and before == "0"))
        for is_letter, before in zip(rows["letters"], rows["letters shifted by one"], strict=True)
    ]
    for title, row in rows.items():
        picture.text(title, bold=True)
        fills = [SPECIAL if bit == "1" and "&" in title else COLOURS[1] if bit == "1" else EMPTY for bit in row]
        picture.boxes(row, fills=fills)
    return picture


def linked_list() -> Picture:
    """Draw the symbols of a long piece as a list that merges shorten."""
    picture = Picture(560)
    for title, symbols in (
        ("symbols of a long piece, each with a link to its neighbours", ["l", "o", "w", "e", "s", "t"]),
        ("the best pair is merged: two links change, and two pairs are new", ["lo", "w", "e", "s", "t"]),
        ("a pair in the heap that is gone is passed over when its turn comes", ["lo", "w", "es", "t"]),
    ):
        picture.text(title, bold=True)
        middles = picture.boxes(symbols, fills=[COLOURS[min(len(symbol), 2)] for symbol in symbols], x=8)
        y = picture.top - 2
        for left, right in pairwise(middles):
            picture.arrow(left, y, right, y)
        picture.top += 10
    return picture


def learning() -> Picture:
    """Draw the structures of training: occurrences of a pair, buckets by count, the heap of the best."""
    picture = Picture(560)
    picture.text("distinct pieces, each with its number of occurrences", bold=True)
    picture.boxes(["low × 5", "lower × 2", "newest × 6", "widest × 3"], fills=[EMPTY] * 4)
    picture.text("pairs, with the sum of the counts of their places", bold=True)
    picture.boxes(
        ["e s: 9", "s t: 9", "w e: 8", "l o: 7", "o w: 7", "…"], below=["6+3", "6+3", "2+6", "5+2", "5+2", ""]
    )
    picture.text("pairs wait in buckets, one a count; the best are in a heap", bold=True)
    picture.boxes(["heap: large counts, 9", "8", "7", "6", "…", "1"], fills=[SPECIAL, *COLOURS[:5]])
    picture.text("merging e s changes only the pairs beside its places", bold=True)
    picture.boxes(["n", "e", "w", "es", "t"], fills=[EMPTY, EMPTY, COLOURS[1], SPECIAL, COLOURS[1]])
    return picture


def code_points() -> Picture:
    """Draw the way of a sentence to the ids of a code-point vocabulary."""
    picture = Picture(560)
    sentences = ["low lower lowest", "new newer newest"] * 9
    tokenizer = fastbpe.train(sentences, mode="codepoint", vocab_size=24, hard_vocab_limit=False, progress=False)
    text = "  low\u00a0\u00a0\uff4eewest猫"
    explained = tokenizer.explain(text)
    normalized = explained.normalized.replace(" ", "▁")
    picture.text("a sentence, with spaces and a wide letter", bold=True)
    picture.boxes([text.replace(" ", "·").replace("\u00a0", "·")], fills=[EMPTY])
    picture.text("normalized: characters by a table, fewer spaces, ▁ for each and in front", bold=True)
    picture.boxes([normalized], fills=[EMPTY])
    picture.text("characters; no piece crosses a ▁ that begins a word", bold=True)
    picture.boxes(
        list(normalized), fills=[COLOURS[normalized.count("▁", 0, i + 1) % 2] for i in range(len(normalized))]
    )
    merges = [merge for piece in explained.pieces for merge in piece.merges]
    picture.text("the merges of each word, with their scores: the best comes first", bold=True)
    joined = [b"".join((merge.left, merge.right)).decode().replace(" ", "▁") for merge in merges]
    picture.boxes(joined, below=[f"{-merge.priority:d}" for merge in merges])
    picture.text("ids; without a piece: <unk>, or bytes with byte_fallback", bold=True)
    ids = explained.ids
    names = [tokenizer.id_to_token(token).decode().replace(" ", "▁") for token in ids]
    fills = [SPECIAL if name == "<unk>" else COLOURS[2] for name in names]
    picture.boxes(names, fills=fills, below=[str(token) for token in ids])
    return picture


def vocabulary_size() -> Picture:
    """Draw bytes a token, and rows of an embedding, against the size of the vocabulary."""
    picture = Picture(620)
    measured = json.loads(SIZES.read_text(encoding="utf-8"))
    texts = {name: measured["bytes_per_token"][name] for name in ("english", "multilingual")}
    sizes = [int(size) for size in texts["english"]]
    left, bottom, step, unit = 50, 250, 58, 42  # pixels: axes, one size, one byte
    picture.text("bytes a token on text that training did not see", bold=True)
    for value in range(6):
        y = bottom - value * unit
        picture.line([(left, y), (left + (len(sizes) - 1) * step, y)], "#ddd")
        picture.text(str(value), x=left - 18, y=y + 4)
    for (name, by_size), colour in zip(texts.items(), ("#d9722b", "#2b6cb0"), strict=True):
        points = [(left + at * step, bottom - value * unit) for at, value in enumerate(by_size.values())]
        picture.line(points, colour, width=2)
        picture.text(name, x=points[5][0] + 8, y=points[5][1] + (22 if name == "multilingual" else -18))
    for at, size in enumerate(sizes):
        x = left + at * step - 14
        picture.text(f"{size // 1000}k" if size >= 1000 else str(size), x=x, y=bottom + 18)
        parameters = size * WIDTH / 1e6
        picture.text(f"{parameters:.0f}M" if parameters >= 10 else f"{parameters:.1f}M", x=x, y=bottom + 36)
    picture.text(f"ids; below them the parameters of an embedding of width {WIDTH:,}", x=left, y=bottom + 56)
    run = measured["run"]
    picture.text(f"{run['command']}, {run['date']}", x=left, y=bottom + 74)
    picture.top = bottom + 80
    return picture


PICTURES: dict[str, Callable[[], Picture]] = {
    "first-merges": first_merges,
    "pieces": pieces,
    "special-token": special_token,
    "encoding": encoding,
    "piece-cache": piece_cache,
    "scanner": scanner,
    "safe-cuts": safe_cuts,
    "linked-list": linked_list,
    "learning": learning,
    "code-points": code_points,
    "vocabulary-size": vocabulary_size,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the files instead of writing them")
    check = parser.parse_args().check
    status = 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        path, drawn = FOLDER / f"{name}.svg", draw().svg()
        if not check:
            path.write_text(drawn, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != drawn:
            print(f"{path}: not as drawn; run python tools/draw_docs.py")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
