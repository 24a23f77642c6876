"""ByteFamily: a byte-level vocabulary, as in tiktoken, GPT-2 and Llama 3."""

from __future__ import annotations

from zlib import compress

from fastbpe._core.decode.decoder import Decoder
from fastbpe._core.decode.tokenizer_methods import TokenFinder
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.encode.offsets import pieces
from fastbpe._core.merge.merge_piece import recover_merges
from fastbpe._core.merge.table_builder import build_look_ups, build_tables
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._utils.caching import cached_property
from fastbpe.errors import VocabularyError
from fastbpe.formats.byte_order import little_endian
from fastbpe.model import BYTES_PER_MERGE, TEXT, AddedToken, Model, Templates
from fastbpe.patterns import shown_pattern
from fastbpe.tokenizer import own_tokens
from fastbpe.tokenizer.families import step_objects
from fastbpe.tokenizer.families.family import Family
from fastbpe.tokenizer.families.superword_phases import phases_of
from fastbpe.tokenizer.special_token_rules import SpecialTokens
from fastbpe.tokenizer.surgery import adding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from typing import Any

    from fastbpe._core.decode.stream_decoder import StreamDecoder
    from fastbpe._utils.choices import DecodeErrors, UnknownIds
    from fastbpe.tokenizer.export.exportable import Exportable, Files
    from fastbpe.tokenizer.families.family import Decoding, SortedTokens, Surfaces
    from fastbpe.tokenizer.families.merged_tokens import MergedTokens
    from fastbpe.tokenizer.special_token_rules import Ordinary
    from fastbpe.tokenizer.streams.stream_cuts import PairCuts
    from fastbpe.tokenizer.surgery.removing_bytes import ByteRemoval
    from fastbpe.vocabularies.between import Entry, Speller
    from fastbpe.vocabularies.material import Material


class ByteFamily(Family):
    """Byte-level vocabulary.

    Raises VocabularyError, SpecialTokenError or PatternError if the model contradicts itself.
    """

    mode = "byte"

    def __init__(self, model: Model) -> None:
        tables = model.tables
        has_symbols = model.symbols is not None  # symbols that merge instead of the tokens
        merges = (b"" if has_symbols else model.merges) if model.merges_rule == "merges" else None
        is_affixed = model.spelling is not None
        if tables is None:
            tables = build_tables(model.tokens or [], merges, affixed=is_affixed)
        elif "pieces" not in tables or not {"pairs", "pair_lines"} & tables.keys():
            tables = build_look_ups(tables["token_bytes"], tables["token_ends"], merges, affixed=is_affixed)
        self._vocabulary = Vocabulary(
            **tables,
            whole_piece_first=model.whole_piece_first,
            drops_bytes=model.drops_bytes or has_symbols,  # tokens that do not merge may lack bytes
            spelled=None if has_symbols else step_objects.spelled(model.spelling),
            segmenter=step_objects.segmenter(model, tables["token_bytes"], tables["token_ends"]),
        )
        self._merging = step_objects.merging(model, self._vocabulary)
        model, self.pattern_name, self.pattern, self.splitter, self._stages = step_objects.splitting(
            model, self._vocabulary
        )
        self._own = model._replace(tokens=None, tables=None)
        if model.supermerges is not None and (model.normalizers or model.pre_tokenizers or model.prefix_space):
            raise VocabularyError(
                "supermerges cannot be combined with normalizers, pre_tokenizers or prefix_space"
            )
        self._front, normalize = step_objects.front(model)
        self.special = SpecialTokens(
            model.special_tokens,
            self._vocabulary,
            model.added_tokens,
            normalize,
            # Only a tokenizer.json brings other parts than the empty token, which files of ranks may have, too.
            decodes_stand_ins=model.spelling is None and bool(model.huggingface.keys() - {"empty_token"}),
            empty=model.huggingface.get("empty_token"),
        )
        # joins: the bytes on both sides of an empty token may form one character.
        self._decoder = Decoder(
            self._vocabulary, [*self.special.decoded.items()], joins="empty_token" in model.huggingface
        )

    @property
    def vocabulary(self) -> Vocabulary:
        return self._vocabulary

    @property
    def _named(self) -> set[int]:
        """Ids of special and added tokens."""
        return {token.id for token in self.special.added} | {*self.special.ids.values()}

    # Encoding

    def prepare(self, encoder: Encoder, cache_bytes: int) -> None:
        Encoder.__init__(
            encoder,
            self._merging,
            self.splitter,
            special=self.special,
            front=self._front,
            cache_bytes=cache_bytes,
            stages=self._stages[0],
            cut_stages=self._stages[1],
            phases=phases_of(self._vocabulary, self._own),
            trimmer=step_objects.trimmer(self._own, self._vocabulary.tokens),
        )

    def pieces(self, encoder: Encoder, text: str | bytes) -> list[tuple[int, int]]:
        return pieces(self.splitter, text)

    def cutter(self, encoder: Encoder, special: Collection[str] = ()) -> Callable[[bytes], int] | None:
        from fastbpe.splitting.cutting import make_cutter  # here, like other imports below: few programs need them

        finder, _ = self.special.choose(special, ())
        if self._front is not None or (finder is not None and not finder.cuttable):
            return None
        added = [token.content for token in self.special.added if not token.special]
        phases = encoder._pipeline.phases
        crossed = None if phases is None or self._own.supermerges is None else phases.borders
        return make_cutter(self.splitter, [*added, *special], crossed)

    def pair_cuts(self, encoder: Encoder) -> PairCuts | None:
        from fastbpe.tokenizer.streams.stream_cuts import pair_cuts

        with_flags = any(token.lstrip or token.rstrip or token.single_word for token in self.special.added)
        return pair_cuts(encoder._pipeline, self._own, with_flags=with_flags)

    def spelled_out(self) -> dict[int, list[int]]:
        from fastbpe.tokenizer.families.untrusted_text import spelled_bytes

        return spelled_bytes(self._vocabulary, {token.id for token in self.special.added})

    # Decoding

    def _decoder_of(self, *, skips: bool) -> Decoder:
        left_out = self.special.left_out if skips else ()
        if not left_out:
            return self._decoder
        decoded = {**self.special.decoded, **dict.fromkeys(left_out, b"")}
        return Decoder(self._vocabulary, [*decoded.items()], joins=True)

    def decoding(self, *, skips: bool) -> Decoding:
        return self._decoder_of(skips=skips)

    def stream(self, errors: DecodeErrors, unknown_ids: UnknownIds, *, skips: bool) -> StreamDecoder:
        from fastbpe._core.decode.stream_decoder import StreamDecoder

        return StreamDecoder(self._decoder_of(skips=skips), errors, unknown_ids)

    @property
    def surfaces(self) -> Surfaces:
        return self._decoder

    # Tokens and ids

    @property
    def names(self) -> Decoder:
        return self._decoder

    @property
    def find(self) -> Callable[[bytes | str], int | None]:
        return TokenFinder(self._vocabulary, self.special).find

    @property
    def n_tokens(self) -> int:
        return self._vocabulary.n_tokens + len(self.special.not_ordinary)

    @property
    def n_ids(self) -> int:
        return self._decoder.n_ids

    def vocab(self) -> list[bytes]:
        tokens = self._vocabulary.tokens()
        tokens += [b""] * (self.n_ids - len(tokens))
        for token_id, token in self.special.not_ordinary:
            tokens[token_id] = token
        return tokens

    def merges(self) -> list[tuple[int, int]]:
        listed = self._own.merge_list()
        if listed is not None:
            supermerges = self._own.supermerges
            listed += [] if supermerges is None else supermerges.merge_list()
            ids = range(self.n_ids) if self._own.symbols is None else self._own.symbols.ids
            return [(ids[left], ids[right]) for left, right, _ in listed]
        return list(recover_merges(self._vocabulary).values())

    def merged_tokens(self, encoder: Encoder) -> MergedTokens:
        from fastbpe.tokenizer.families.merged_tokens import of_bytes

        phases = encoder._pipeline.phases
        superwords = None if self._own.supermerges is None or phases is None else phases.superwords
        return of_bytes(
            self._vocabulary, self.splitter, self._named, superwords, len(self._own.merges) // BYTES_PER_MERGE
        )

    def sorted_tokens(self) -> SortedTokens:
        from fastbpe._core.encode import completions

        return completions.SortedTokens(self._vocabulary)

    def material(self) -> Material:
        from fastbpe.tokenizer.families.collected_material import byte_material

        special = self.special
        return byte_material(
            self.vocab(), dict(special.ids), special.added, self.pattern, self._own, self._vocabulary
        )

    def entries(self) -> Iterator[tuple[int, Entry]]:
        from fastbpe.tokenizer.surgery.entries import byte_level_entries

        return byte_level_entries(self._vocabulary, self.special)

    def speller(self) -> Speller:
        from fastbpe.tokenizer.surgery.entries import byte_level_speller

        return byte_level_speller(self._vocabulary)

    # Origin and rules

    @property
    def own(self) -> Model:
        return self._own

    @property
    def model(self) -> Model:
        return self._own._replace(
            tables=self._vocabulary.sections(), special_tokens=self.special.ids, fingerprint=self.fingerprint
        )

    @cached_property
    def fingerprint(self) -> str:
        model = self._own
        if model.fingerprint:  # of a native file; a function that changes a model sets it to ""
            return model.fingerprint
        import hashlib  # here: importing it is slow

        rule = (model.merges_rule, self._vocabulary.whole_piece_first, self.pattern)
        ids = list(self.special.ids.items())
        digest = hashlib.sha256(repr(("byte", *rule, ids, *step_objects.extras(model))).encode())
        tables = self._vocabulary.sections()
        digest.update(little_endian(tables["token_ends"], 4))
        digest.update(tables["token_bytes"])
        if model.merges_rule == "merges":
            digest.update(little_endian(model.merges, 4))
        digest.update(little_endian(model.scores, 8))
        if model.supermerges is not None:
            digest.update(b"supermerges")
            digest.update(little_endian(model.supermerges.merges, 4))
        return digest.hexdigest()

    def normalizers(self) -> list[dict[str, Any]]:
        return step_objects.normalizers(self._own)

    def pre_tokenizers(self) -> list[dict[str, Any]]:
        return [dict(step) for step in self._own.pre_tokenizers]

    def splitting(self) -> str:
        pattern = f"pattern {self.pattern_name or shown_pattern(self.pattern, 40)}"
        if self._own.pre_tokenizers:
            from fastbpe._utils.plurals import counted  # here: few programs need it

            pattern = counted(len(self._own.pre_tokenizers), "pre-tokenizer")
        return f"{pattern} (split by {self.splitter!r})"

    @property
    def templates(self) -> Templates:
        before, behind = self._own.template
        return Templates((*before, TEXT, *behind), self._own.pair_template)

    def named_roles(self) -> Mapping[str, str]:
        return self._own.roles

    # Models of changed tokenizers

    def known_tokens(self) -> dict[str, AddedToken]:
        return adding.known_tokens(self.special)

    @property
    def ordinary(self) -> Ordinary:
        return self._vocabulary

    def with_added(self, new: Sequence[AddedToken], argument: str) -> Model:
        return adding.add_to_bytes(self._own._replace(tables=self._vocabulary.sections()), new)

    def with_roles(self, roles: Mapping[str, str]) -> Model:
        model = self.model
        checked = own_tokens.check_roles(roles, self.special.ids.__contains__)
        return model._replace(roles={**model.roles, **checked})

    def removal(self, encoder: Encoder) -> ByteRemoval:
        from fastbpe.tokenizer.surgery.token_makers import is_whole_piece

        if self._own.supermerges is not None:
            raise VocabularyError(
                "this tokenizer has merges of whole words (BoundlessBPE), which need all words that they were "
                "learned with: no token can be removed; train a tokenizer with fewer ids"
            )
        is_whole = is_whole_piece(self._own, encoder.encode_ordinary)
        return self._removal_class()(self._own, self._vocabulary, self.special, is_whole)

    def _removal_class(self) -> type[ByteRemoval]:
        """Return the class that removes tokens together with the tokens that depend on them."""
        from fastbpe.tokenizer.surgery.removing_bytes import ByteRemoval

        return ByteRemoval

    # Writing

    def dump(self, tokenizer: Exportable, format: str) -> Files:
        from fastbpe.tokenizer.export.export import dump_byte_level

        return dump_byte_level(tokenizer, format)

    def state(self) -> bytes:
        from fastbpe.formats import native

        # Level 1: level 6 takes four times as long for a twentieth fewer bytes.
        return compress(native.dump(self.model, look_ups=False), 1)
