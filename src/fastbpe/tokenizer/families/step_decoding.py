"""Decoding by the decoder of a tokenizer.json, for vocabularies whose tokens are texts.

Most decoders change each token by itself, but may change the first and the last differently. For these, a table
replaces the steps: the core's `Decoder` gets the bytes that each id has within a text, and the bytes that it has
as the first id. If the last token changes differently, too, the two ends are corrected afterwards. In the table, a
byte token has the byte itself; if more steps follow ByteFallback, it has a byte that never occurs in UTF-8. If the
bytes of ids are not UTF-8, each run of byte tokens is decoded separately. Decoders of other kinds run step by
step.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import accumulate, compress, groupby, pairwise
from operator import index
from typing import Any

from fastbpe._core.decode.decoder import Decoder
from fastbpe._core.decode.stream_decoder import StreamDecoder
from fastbpe._core.decode.text_beginning import FirstForms
from fastbpe._core.decode.tokenizer_methods import check_errors
from fastbpe._core.merge.vocabulary import NO_SLOTS, Vocabulary
from fastbpe._utils.caching import cached_property
from fastbpe._utils.choices import DecodeErrors, UnknownIds
from fastbpe._utils.threads import usable_threads
from fastbpe.errors import InvalidTokenError, note_place
from fastbpe.normalization.decoder_steps import (
    REPLACEMENT,
    ByteFallback,
    ByteLevel,
    EachToken,
    apply,
    byte_values,
    find_plan,
    make_steps,
)
from fastbpe.normalization.decoder_streams import IdStream
from fastbpe.tokenizer.families.family import Ids, listed

_NEVER_UTF8 = b"\xff"
_MAX_ENDS = 1 << 12  # first and last tokens that are kept


class StepDecoding:
    """Decoding of ids by the decoder of a tokenizer.json.

    `decode` and similar methods take the arguments of `Tokenizer.decode`, and `skip`: leave special tokens out
    before any step. With errors="replace" the text equals tokenizers'. If unknown_ids is "replace", an id without
    a token is decoded as the token U+FFFD.

    Args:
        steps: JSON of the decoder, or a list of its steps; None: no decoder, so tokens are joined by spaces.
        tokens: UTF-8 of each id's token, spelled as in the file; of an added token, its text. b"": the id has no
            token.
        special: ids that skip_special_tokens leaves out.
        empty: ids whose token is the empty string.

    Raises:
        FormatError: tokenizers would refuse the decoder.
        PatternError: the pattern of a Replace cannot be used.

    >>> steps = [{"type": "BPEDecoder", "suffix": "</w>"}]
    >>> decoding = StepDecoding(steps, [b"a", b"b</w>", b"<s>"], special=[2])
    >>> decoding.decode([0, 1, 1, 2], skip=True), decoding.decode_bytes([0, 1, 2])
    ('ab b', b'ab <s>')
    """

    def __init__(
        self,
        steps: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None,
        tokens: Sequence[bytes],
        special: Collection[int] = (),
        *,
        empty: Collection[int] = (),
    ) -> None:
        self._steps = make_steps(steps)
        self._tokens = tokens
        self._special = frozenset(special)
        self._empty = frozenset(empty)
        self._plan = find_plan(self._steps)  # None: a table of bytes cannot replace the steps
        self._ends: dict[tuple[int, bool, bool], tuple[int, str]] = {}

    # Decoding

    def decode(
        self,
        ids: Ids,
        errors: DecodeErrors = "replace",
        num_threads: int | None = None,
        unknown_ids: UnknownIds = "raise",
        skip: bool = False,
    ) -> str:
        _check(errors, num_threads)
        if type(ids) is not list:
            ids = listed(ids)
        if self._plan is not None:
            try:
                return self._quickly([ids], errors, num_threads, unknown_ids, skip)[0]
            except UnicodeDecodeError:
                if self._plan.before is not None:
                    return self._by_runs(ids, errors, skip)
            except InvalidTokenError:
                pass
        return apply(self._steps, self._spelling(ids, unknown_ids, skip), errors)

    def decode_batch(
        self,
        batch: Iterable[Ids],
        errors: DecodeErrors = "replace",
        num_threads: int | None = None,
        unknown_ids: UnknownIds = "raise",
        skip: bool = False,
    ) -> list[str]:
        _check(errors, num_threads)
        # A list of lists, as most batches are, needs no call of `listed` for each.
        sequences = batch if type(batch) is list and {*map(type, batch)} == {list} else [*map(listed, batch)]
        if self._plan is not None:
            # The loop below raises an error again, with the index of its sequence, or decodes with the steps.
            with suppress(KeyError, TypeError, ValueError):
                return self._quickly(sequences, errors, num_threads, unknown_ids, skip)
        self._spelled.tokens((), unknown_ids)  # raises an error for unknown_ids= even if the batch is empty
        made: list[str] = []
        for ids in sequences:
            try:
                made.append(self.decode(ids, errors, num_threads, unknown_ids, skip))
            except (KeyError, TypeError, ValueError) as error:
                note_place(error, f"batch[{len(made)}]")
                raise
        return made

    def decode_bytes(self, ids: Ids) -> bytes:
        """Decode ids to bytes: the UTF-8 of their text, or the bytes from ByteLevel or ByteFallback."""
        ids = listed(ids)
        if self._plan is not None and self._plan.as_bytes is not None and not self._plan.after:
            return self._decoder.decode_bytes(ids)
        return self.decode(ids, "surrogateescape").encode("utf-8", "surrogateescape")

    def token(self, token_id: int) -> bytes:
        """Return the bytes that an id adds to a text, or of the id alone if they depend on the ids beside it.

        Raises InvalidTokenError (a KeyError) if the id has no token.
        """
        if type(token_id) is bool:
            raise TypeError("ids must be integers, not bool")
        found = (self._spelled if self._plan is None else self._decoder).token(token_id)
        return self.decode_bytes([token_id]) if self._plan is None or found == _NEVER_UTF8 else found

    def depends_on_others(self, token_id: int) -> bool:
        """Tell whether the bytes that an id adds depend on other ids, even if it is not the first."""
        plan = self._plan
        if plan is None or plan.knows_last or plan.after:
            return True
        if not plan.has_bytes and not isinstance(plan.as_bytes, ByteFallback):
            return False
        return plan.before is None or token_id in self._byte_values  # consecutive ones are decoded together

    def tokens(self, ids: Ids) -> list[bytes]:
        """Return the bytes that each id adds to the text. Joined, they equal the result of `decode_bytes`.

        If more steps follow ByteFallback, the id after a run of bytes also has the bytes of the run.
        """
        ids = listed(ids)
        if self._plan is not None and self._plan.as_bytes is not None and not self._plan.after:
            return self._decoder.tokens(ids)
        text, starts = self._with_starts(ids, "surrogateescape")
        return [
            text[start:end].encode("utf-8", "surrogateescape") for start, end in pairwise([*starts, len(text)])
        ]

    def decode_with_offsets(self, ids: Ids) -> tuple[str, list[int]]:
        """Decode ids, and return for each the position in the text of the first character that it is part of."""
        ids = listed(ids)
        if self._plan is not None and self._plan.as_bytes is not None and not self._plan.after:
            text, offsets = self._decoder.decode_with_offsets(ids)
            if isinstance(self._plan.as_bytes, ByteLevel) or text == self.decode(ids):
                return text, offsets
        return self._with_starts(ids, "replace")

    def stream(
        self, errors: DecodeErrors = "replace", unknown_ids: UnknownIds = "raise", skip: bool = False
    ) -> StreamDecoder:
        """Return a stream that decodes ids as they arrive. Its texts, joined, are the text of all ids.

        Text is returned as soon as no later id can change it: a run of byte tokens is held back until it ends, and
        steps that need the whole text run in `finish`.
        """
        check_errors(errors)
        plan = self._plan
        is_plain = (
            plan is not None
            and not (plan.knows_first or plan.knows_last)
            and not plan.after
            and not plan.has_bytes
            and not isinstance(plan.as_bytes, ByteFallback)
            and self._bytes_of([REPLACEMENT]) == [REPLACEMENT.encode()]  # the reader's text of an unknown id
        )
        if is_plain:
            return StreamDecoder(self._skipping if skip else self._decoder, errors, unknown_ids)
        spelling = partial(self._spelling, unknown_ids=unknown_ids, skip=skip)
        return StreamDecoder(self._spelled, errors, unknown_ids, steps=IdStream(self._steps, spelling, errors))

    def skipping(self) -> SkippingDecoding:
        return SkippingDecoding(self)

    # By the table

    @cached_property
    def _known(self) -> Sequence[int]:
        """1 for each id with a token, else 0."""
        known = bytearray(map(bool, self._tokens))
        for i in self._empty:
            known[i] = 1
        return known

    @cached_property
    def _inner(self) -> list[bytes]:
        """List of the bytes that each id adds if it is neither the first nor the last of a text."""
        known = [*compress(self._tokens, self._known)]
        # Decode all tokens in one call: faster than one by one, unless a token contains NUL.
        names = b"\0".join(known).decode().split("\0")
        texts = self._bytes_of(names if len(names) == len(known) else [token.decode() for token in known])
        if len(texts) == len(self._tokens):
            return texts
        made = [b""] * len(self._tokens)
        for i, text in zip(compress(range(len(made)), self._known), texts, strict=True):
            made[i] = text
        return made

    @cached_property
    def _divides_runs(self) -> bool:
        """True if some token adds no text, but divides a run of byte tokens into two, decoded separately."""
        if self._plan is None or not isinstance(self._plan.as_bytes, ByteFallback):
            return False
        return b"" in [*compress(self._inner, self._known)]

    @cached_property
    def _decoder(self) -> Decoder:
        """Decoder of the bytes of each id within a text."""
        return self._decoder_of(self._inner, joins=not self._divides_runs)

    @cached_property
    def _skipping(self) -> Decoder:
        return self._decoder_of(self._inner, self._special, joins=True) if self._special else self._decoder

    @cached_property
    def _spelled(self) -> Decoder:
        """Decoder of the tokens in the file's spelling."""
        return self._decoder_of(self._tokens)

    @cached_property
    def _firsts(self) -> tuple[FirstForms, FirstForms]:
        """Pair: the bytes of each id as the first one, for decoding all ids and for leaving special tokens out."""

        def find(token_id: int) -> bytes:
            [form] = self._forms([self._tokens[token_id].decode()], True, False)
            if form is None:
                raise UnicodeDecodeError("utf-8", _NEVER_UTF8, 0, 1, "a token for a byte")
            return form.encode()

        special = self._special
        return FirstForms(find), FirstForms(lambda token_id: None if token_id in special else find(token_id))

    def _decoder_of(
        self, texts: Sequence[bytes], left_out: Collection[int] = (), *, joins: bool = True
    ) -> Decoder:
        """Return a decoder for the bytes of each id. left_out: ids that become nothing.

        Without bytes, an id counts as unknown to the Decoder, unless it is listed as special.
        """
        nothing = [i for i, text in enumerate(texts) if not text and self._known[i]]
        nothing += [i for i in left_out if 0 <= i < len(texts) and self._known[i]]
        ends = array("I", accumulate(map(len, texts))).tobytes()
        vocabulary = Vocabulary(
            token_bytes=b"".join(texts), token_ends=ends, pieces=NO_SLOTS, pairs=NO_SLOTS, drops_bytes=True
        )
        return Decoder(vocabulary, [(i, b"") for i in nothing], joins=joins)

    def _forms(self, tokens: Sequence[str], first: bool, last: bool) -> list[str | None]:
        """Apply the steps that the table replaces to each token alone; return None for a byte token.

        first, last: whether each token counts as the first or the last of a text.
        """
        assert self._plan is not None
        made: list[str] = [*tokens]
        of_bytes: set[int] = set()
        for step in self._plan.each:
            if isinstance(step, EachToken):
                made = step.forms(made, first, last)
            else:
                of_bytes.update(i for i, token in enumerate(made) if ByteFallback.is_byte(token))
        return [None if i in of_bytes else token for i, token in enumerate(made)] if of_bytes else [*made]

    def _bytes_of(self, tokens: Sequence[str]) -> list[bytes]:
        """Return the bytes that tokens have within a text."""
        assert self._plan is not None
        forms = self._forms(tokens, False, False)
        if isinstance(self._plan.as_bytes, ByteLevel):
            return [ByteLevel.of(form or "") for form in forms]
        texts = [form or "" for form in forms]
        made = "\0".join(texts).encode().split(b"\0")  # all in one call, as in `_inner`
        if len(made) != len(texts):
            made = [text.encode() for text in texts]
        if self._plan.as_bytes is not None:
            for i in [i for i, text in enumerate(texts) if text[:3] == "<0x"]:
                made[i] = byte_values([texts[i]]) if ByteFallback.is_byte(texts[i]) else made[i]
        elif self._plan.has_bytes:
            made = [_NEVER_UTF8 if form is None else text for form, text in zip(forms, made, strict=True)]
        return made

    def _quickly(
        self, batch: list[Ids], errors: DecodeErrors, num_threads: int | None, unknown_ids: UnknownIds, skip: bool
    ) -> list[str]:
        """Decode sequences of ids with the table.

        Raises UnicodeDecodeError if one needs the steps, InvalidTokenError if an id without a token is not to be
        skipped.
        """
        assert self._plan is not None
        decoder, filtered = self._decoder, batch
        if skip and self._special:
            if self._divides_runs:
                filtered = [[i for i in map(index, ids) if i not in self._special] for ids in batch]
            else:
                decoder = self._skipping
        handler: DecodeErrors = errors if isinstance(self._plan.as_bytes, ByteLevel) else "strict"
        rule: UnknownIds = "raise" if unknown_ids == "replace" else unknown_ids
        firsts = self._firsts[skip] if self._plan.knows_first and not self._plan.knows_last else None
        if len(batch) == 1:
            texts = [decoder.decode(filtered[0], handler, num_threads, rule, firsts)]
        else:
            texts = decoder.decode_batch(filtered, handler, num_threads, rule, firsts)
        if self._plan.knows_last:
            all_stay = unknown_ids != "skip" and not (skip and self._special)
            texts = [
                self._mended(text, ids, skip, all_stay=all_stay) for text, ids in zip(texts, batch, strict=True)
            ]
        if self._plan.after:
            texts = [apply(self._plan.after, [text], errors) for text in texts]
        return texts

    def _mended(
        self, text: str, ids: Ids, skip: bool, *, all_stay: bool, begins: bool = True, ends: bool = True
    ) -> str:
        """Replace the first and the last token of a text by their forms for these places.

        text: text of the ids, each in its form within a text.
        all_stay: whether no id is left out.
        begins, ends: whether the first id begins the whole text, and whether the last one ends it.
        """
        first, last = 0, len(ids) - 1
        if not all_stay:
            while first <= last and not self._stays(ids[first], skip):
                first += 1
            while first < last and not self._stays(ids[last], skip):
                last -= 1
        if first >= last:
            return text if first > last else self._end(ids[first], begins, ends)[1]
        known = self._ends
        before, begin = known.get((ids[first], begins, False)) or self._end(ids[first], begins, False)
        behind, end = known.get((ids[last], False, ends)) or self._end(ids[last], False, ends)
        return f"{begin}{text[before : len(text) - behind]}{end}"

    def _end(self, token_id: int, first: bool, last: bool) -> tuple[int, str]:
        """Return (number of characters of a token in its form within a text, its text as the first or last token).

        Raises UnicodeDecodeError for a byte token, which needs the steps.
        """
        i = index(token_id)
        found = self._ends.get((i, first, last))
        if found is None:
            token = self._tokens[i].decode()
            [inner], [end] = self._forms([token], False, False), self._forms([token], first, last)
            if inner is None or end is None:
                raise UnicodeDecodeError("utf-8", _NEVER_UTF8, 0, 1, "a token for a byte")
            if len(self._ends) >= _MAX_ENDS:
                self._ends.clear()
            found = self._ends[i, first, last] = len(inner), end
        return found

    def _stays(self, token_id: int, skip: bool) -> bool:
        """Tell whether an id has a token that is not left out."""
        i = index(token_id)
        return 0 <= i < len(self._tokens) and bool(self._known[i]) and not (skip and i in self._special)

    # By the table, and by the steps around runs of bytes

    @cached_property
    def _byte_values(self) -> dict[int, int]:
        """Dict from the id of a byte token to its byte."""
        assert self._plan is not None
        ids = [*compress(range(len(self._tokens)), self._known)]
        names = [self._tokens[i].decode() for i in ids]
        for step in self._plan.before or ():
            names = step.forms(names, False, False)
        pairs = zip(ids, names, strict=True)
        return {i: byte_values([name])[0] for i, name in pairs if name[:3] == "<0x" and ByteFallback.is_byte(name)}

    def _by_runs(self, ids: Ids, errors: DecodeErrors, skip: bool) -> str:
        """Decode ids with the table, and runs of byte tokens by the steps. Ids without a token are left out."""
        assert self._plan is not None
        values, texts = self._byte_values, list[str]()
        kept = self._decoder.known(ids)
        if skip and self._special:
            kept = [i for i in kept if i not in self._special]
        runs = [(is_byte, [*run]) for is_byte, run in groupby(kept, values.__contains__)]
        for number, (is_byte, run) in enumerate(runs):
            begins, ends = number == 0, number == len(runs) - 1
            if is_byte:
                tokens = ByteFallback.texts(bytes(map(values.__getitem__, run)), errors)
                for step in self._plan.behind:
                    tokens = step.part(tokens, begins, ends)
                texts += tokens
                continue
            firsts = self._firsts[False] if begins and self._plan.knows_first else None
            text = self._decoder.decode(run, "strict", firsts=None if self._plan.knows_last else firsts)
            if self._plan.knows_last:
                text = self._mended(text, run, False, all_stay=True, begins=begins, ends=ends)
            texts.append(text)
        return apply(self._plan.after, ["".join(texts)], errors)

    # By the steps

    def _spelling(self, ids: Ids, unknown_ids: UnknownIds, skip: bool) -> list[str]:
        """List the tokens of ids in the file's spelling."""
        if unknown_ids == "skip":
            ids = self._spelled.known(ids)
        tokens = self._spelled.tokens(ids, unknown_ids)
        if skip and self._special:
            tokens = [token for i, token in zip(map(index, ids), tokens, strict=True) if i not in self._special]
        return [token.decode() for token in tokens]

    def _with_starts(self, ids: Ids, errors: DecodeErrors) -> tuple[str, list[int]]:
        """Decode ids, and list for each the length of the text before it that is certain at that point."""
        plan, tokens, n = self._plan, self._spelling(ids, "raise", False), len(ids)
        if plan is not None and plan.as_bytes is None and not plan.after:
            forms = [self._forms([token], i == 0, i == n - 1)[0] for i, token in enumerate(tokens)]
            if None not in forms:
                texts = [form or "" for form in forms]
                return "".join(texts), [*accumulate(map(len, texts), initial=0)][:n]
        stream = self.stream(errors)
        parts = [stream.push(token_id) for token_id in ids]
        return "".join([*parts, stream.finish()]), [*accumulate(map(len, parts), initial=0)][: len(parts)]


class SkippingDecoding:
    """StepDecoding that leaves special tokens out."""

    def __init__(self, whole: StepDecoding) -> None:
        self._whole = whole

    def decode(self, ids: Ids, errors: DecodeErrors, num_threads: int | None, unknown_ids: UnknownIds) -> str:
        return self._whole.decode(ids, errors, num_threads, unknown_ids, skip=True)

    def decode_batch(
        self, batch: Iterable[Ids], errors: DecodeErrors, num_threads: int | None, unknown_ids: UnknownIds
    ) -> list[str]:
        return self._whole.decode_batch(batch, errors, num_threads, unknown_ids, skip=True)

    def decode_bytes(self, ids: Ids) -> bytes:
        """Decode ids to bytes; special tokens are not left out."""
        return self._whole.decode_bytes(ids)


def _check(errors: DecodeErrors, num_threads: int | None) -> None:
    if errors != "replace":
        check_errors(errors)
    if num_threads is not None:
        usable_threads(num_threads)
