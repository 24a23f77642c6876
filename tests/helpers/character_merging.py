"""Slow twin of the core's merging of characters: the steps of tokenizers' BPE, written one after another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Symbol = tuple[int, int]  # id, bytes that it stands for


class SlowMerger:
    """Merges pieces by the model of a tokenizer.json. Its dropout is not applied."""

    def __init__(self, model: Mapping[str, Any]) -> None:
        self._model, vocab = model, model["vocab"]
        n_prefix = len((model["continuing_subword_prefix"] or "").encode())
        self._merges = {
            (vocab[left], vocab[right]): (rank, vocab[left + right.encode()[n_prefix:].decode()])
            for rank, (left, right) in enumerate(model["merges"])
        }

    def merge(self, piece: str) -> list[Symbol]:
        """Return the tokens of a piece. Raises KeyError if it needs a token that the vocabulary lacks."""
        whole = self._model["vocab"].get(piece)
        if self._model["ignore_merges"] and whole is not None:
            return [(whole, len(piece.encode()))]
        return self._merged([*self.symbols(piece)])

    def symbols(self, piece: str) -> Iterator[Symbol]:
        """Yield the base symbols of a piece."""
        model, vocab = self._model, self._model["vocab"]
        unknown: Symbol | None = None  # waits: tokenizers writes it before the next known symbol
        for i, character in enumerate(piece):
            prefix = model["continuing_subword_prefix"] if i else None
            suffix = model["end_of_word_suffix"] if i == len(piece) - 1 else None
            spelled, n = f"{prefix or ''}{character}{suffix or ''}", len(character.encode())
            in_bytes = [vocab.get(f"<0x{byte:02X}>") for byte in spelled.encode()]
            if spelled in vocab:
                if unknown is not None:
                    yield unknown
                unknown = None
                yield vocab[spelled], n
            elif model["byte_fallback"] and None not in in_bytes:
                yield from ((one, 1) for one in in_bytes)
            elif model["unk_token"] is not None:
                if unknown is not None and not model["fuse_unk"]:
                    yield unknown
                    unknown = None
                unknown = vocab[model["unk_token"]], n + (unknown[1] if unknown else 0)
        if unknown is not None:
            yield unknown

    def _merged(self, symbols: list[Symbol]) -> list[Symbol]:
        """Merge the leftmost of the pairs of the lowest rank, again and again.

        A pair that was seen once is merged at that rank, if what stands there later makes the same token.
        """
        places = dict(enumerate(symbols))
        seen: list[tuple[int, int, int]] = []  # rank, place, id of what they become

        def look(left: int | None, right: int | None) -> None:
            if left is not None and right is not None:
                pair = places[left][0], places[right][0]
                if pair in self._merges:
                    rank, made = self._merges[pair]
                    seen.append((rank, left, made))

        for i in range(len(symbols) - 1):
            look(i, i + 1)
        while seen:
            seen.remove(first := min(seen))
            _, left, made = first
            right = min((i for i in places if i > left), default=None)
            if left not in places or right is None:
                continue
            if self._merges.get((places[left][0], places[right][0]), (0, None))[1] != made:
                continue
            places[left] = made, places[left][1] + places.pop(right)[1]
            look(left, min((i for i in places if i > left), default=None))
            look(max((i for i in places if i < left), default=None), left)
        return [places[i] for i in sorted(places)]
