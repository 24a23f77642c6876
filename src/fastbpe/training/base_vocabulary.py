"""Vocabulary that a training run starts from: the 256 bytes, or the tokens of another tokenizer (`base=`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._utils.arguments import not_a_tokenizer
from fastbpe._utils.plurals import counted
from fastbpe._utils.suggestions import choose_one_of
from fastbpe.errors import SpecialTokenError, TrainingError
from fastbpe.model import N_BYTES, Model, pack_merges
from fastbpe.patterns import told_apart
from fastbpe.tokenizer.internals import model_of, vocabulary_of
from fastbpe.tokenizer.surgery.removing_bytes import renumbered
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.document_counting import BaseTexts, texts_of_base
from fastbpe.training.options import BASE_SPECIAL, ByteOptions
from fastbpe.training.piece_counts import PieceCounts


@dataclass(frozen=True, kw_only=True)
class BaseVocabulary:
    """Tokens that exist before the first merge is learned.

    Attributes:
        tokens: list of bytes – the token of each id before the first learned one; b"" for an id without an
            ordinary token. The first merge has the id len(tokens).
        n_known: int – entries of the finished vocabulary that are not merges: the bytes or the tokens of the base,
            and all special tokens, old and new.
        kept_special_tokens: name → id – special tokens of the base that keep their ids.
        special_tokens_at_end: names – tokens that get the ids after the last merge, in this order.
        names: texts of all special and added tokens, old and new, of a run with a base: no merge may produce one,
            although a normalizer of the base can join the parts of one. Empty without a base: texts are cut at
            special tokens, and the finished model refuses a merge that counts made by hand lead to.
        moved: name → id – tokens of `special_tokens_at_end` that exist in the base, with their ids there.
        vocabulary: Vocabulary or None – vocabulary that cuts pieces into tokens of the base; None: pieces start as
            bytes.
        model: Model or None – the base's model; None: there is no base.
        texts: BaseTexts or None – functions that turn documents into texts to merge; None: the split pattern and
            the special tokens are enough.
    """

    tokens: list[bytes]
    n_known: int
    kept_special_tokens: Mapping[str, int]
    special_tokens_at_end: Sequence[str]
    names: Collection[str] = ()
    moved: Mapping[str, int] = field(default_factory=dict)
    vocabulary: Vocabulary | None = None
    model: Model | None = None
    texts: BaseTexts | None = None

    def extended(
        self, merges: Sequence[tuple[int, int, int]], options: ByteOptions, report: Mapping[str, Any]
    ) -> Model:
        """Return the model of the finished vocabulary.

        Args:
            merges: (left id, right id, count) – the learned merges, in order.
            options: the options of the run, which contain the split pattern of the model.
            report: the training report, to be stored in the model.
        """
        tokens = list(self.tokens)
        for left, right, _ in merges:
            tokens.append(tokens[left] + tokens[right])
        at_end = {name: len(tokens) + i for i, name in enumerate(self.special_tokens_at_end)}
        # no merge was learned: the last ids are special tokens, which Model lists separately
        while not tokens[-1]:
            tokens.pop()
        if self.model is None:
            return Model(tokens=tokens, pattern=options.pattern, special_tokens=at_end, training=report)
        model = self.model
        # The empty token keeps its id, but renumbered() drops it.
        empty = {key: part for key, part in model.huggingface.items() if key == "empty_token"}
        packed_merges = b""
        if model.merges_rule != "ranks":
            triples = [(left, right, len(self.tokens) + i) for i, (left, right, _) in enumerate(merges)]
            packed_merges = bytes(model.merges) + pack_merges(triples)
        if self.moved:
            new_ids = {i: i for i in range(len(self.tokens))}
            new_ids |= {i: at_end.pop(name) for name, i in self.moved.items()}
            model = renumbered(model, model.special_tokens, new_ids)
        return model._replace(
            tokens=tokens,
            tables=None,
            merges=packed_merges,
            special_tokens={**model.special_tokens, **at_end},
            huggingface={**model.huggingface, **empty},
            name=None,
            fingerprint="",
            training=report,
        )


def byte_vocabulary(options: ByteOptions) -> BaseVocabulary:
    """Return the initial vocabulary of a run without a base: the 256 bytes, in order.

    Raises TrainingError: vocab_size is too small for the bytes and the special tokens.
    """
    n_special = len(options.special_tokens)
    if options.vocab_size < N_BYTES + n_special:
        special = f" and {counted(n_special, 'special token')}" if n_special else ""
        raise TrainingError(
            f"vocab_size={options.vocab_size} is too small: the {N_BYTES} bytes{special} need "
            f"{N_BYTES + n_special} ids"
        )
    return BaseVocabulary(
        tokens=[bytes([byte]) for byte in range(N_BYTES)],
        n_known=N_BYTES + n_special,
        kept_special_tokens={},
        special_tokens_at_end=options.special_tokens,
    )


def check_base_special(base_special: str, base: object, mode: str, superwords: object) -> None:
    """Raise TrainingError if a run would ignore base_special=."""
    if base is None:
        raise TrainingError(
            f"base_special={base_special!r} has no effect without base=; pass base=, or leave base_special= out"
        )
    of_words = superwords in ("boundless", "words")
    if mode in ("codepoint", "ids") or of_words:
        argument = f"superwords={superwords!r}" if of_words else f'mode="{mode}"'
        raise TrainingError(
            f"base_special={base_special!r} has no effect with {argument}, where special tokens cannot move; "
            "leave base_special= out"
        )


def vocabulary_of_base(base: Tokenizer, base_special: str, options: ByteOptions) -> BaseVocabulary:
    """Return the initial vocabulary of a run that extends a tokenizer.

    Args:
        base: the tokenizer to extend.
        base_special: one of BASE_SPECIAL – "keep": its special tokens keep their ids; "end": they get new ids
            after the merges.
        options: options of the run; their special tokens are the new ones.

    Raises:
        TrainingError: vocab_size is too small for the base and the new special tokens, base_special is not one of
            BASE_SPECIAL, or ties="huggingface".
        SpecialTokenError: a new special token is a token of the base.
    """
    if base_special not in BASE_SPECIAL:
        raise TrainingError(choose_one_of("base_special", base_special, BASE_SPECIAL))
    if options.ties == "huggingface":
        raise TrainingError(
            'ties="huggingface" cannot be combined with base=, because the base already gives the bytes their '
            'ids; choose ties="pair" (by the ids of the base) or ties="first"'
        )
    special = {*base.special_tokens.values()}
    for name in options.special_tokens:
        if (token_id := base.token_to_id(name)) is not None:
            if token_id in special:
                raise SpecialTokenError(
                    f"the base already has the special token {name!r}, with the id {token_id}; leave it out of "
                    "special_tokens="
                )
            raise SpecialTokenError.is_ordinary(name, token_id)
    n_known = base.vocab_size + len(options.special_tokens)
    if options.vocab_size < n_known:
        n_new = len(options.special_tokens)
        new = f", and {counted(n_new, 'special token')} {'is' if n_new == 1 else 'are'} new" if n_new else ""
        raise TrainingError(
            f"vocab_size={options.vocab_size} is too small: the base has {base.vocab_size} tokens, special ones "
            f"included{new}; pass {n_known} or more"
        )
    vocabulary = vocabulary_of(base)
    tokens = vocabulary.tokens()
    moved: dict[str, int] = {}
    if base_special == "keep":
        tokens += [b""] * (base.n_vocab - len(tokens))
    else:
        # The id of an empty token stays, too, which `tokens` lacks if it is the last one.
        tokens += [b""] * (model_of(base).huggingface.get("empty_token", 0) + 1 - len(tokens))
        names = base.special_tokens | {token.content: token.id for token in base.added_tokens}
        moved = {name: i for name, i in sorted(names.items(), key=itemgetter(1)) if not vocabulary.has(i)}
    return BaseVocabulary(
        tokens=tokens,
        n_known=n_known,
        kept_special_tokens=base.special_tokens if base_special == "keep" else {},
        special_tokens_at_end=(*moved, *options.special_tokens),
        names={*base.special_tokens, *(token.content for token in base.added_tokens), *options.special_tokens},
        moved=moved,
        vocabulary=vocabulary,
        model=model_of(base),
        texts=None if is_plain(base) else texts_of_base(base, options.special_tokens),
    )


def is_plain(base: Tokenizer) -> bool:
    """Tell whether only the split pattern and special tokens decide the pieces of a byte-level tokenizer."""
    model = model_of(base)
    return not (model.normalizers or model.pre_tokenizers or model.prefix_space or model.added_tokens)


def mode_of(given: Any, base: object, source: object = None) -> Any:
    """Choose the mode of a run: the given one, or the mode of the base, or of the counts; else "byte".

    Args:
        given: the argument mode=, not checked yet; None: none was given.
        base: the argument base=, not checked yet.
        source: what the run reads, if it may be `PieceCounts`.

    Raises TrainingError for a character-level base, which `train` cannot extend, and for a base without merges.
    """
    of_base = getattr(base, "mode", None)
    if of_base == "character":
        raise TrainingError(
            "base= is a character-level tokenizer, which train does not extend: "
            "fastbpe.tokenizers trains such tokenizers anew, and with_tokens adds tokens"
        )
    of_type = getattr(base, "model_type", "BPE")
    if of_type != "BPE":
        raise TrainingError(
            f"base= is a {of_type} model, which has no merges to add to; train a new tokenizer, or add tokens "
            "with with_tokens"
        )
    if given is not None:
        return given
    return of_base or (source.mode if isinstance(source, PieceCounts) else "byte")


def check_mode(base: object, mode: str) -> None:
    """Check that a base has the mode of the run: "byte", "codepoint" or "ids".

    Raises:
        TypeError: base is not a tokenizer.
        TrainingError: base is a tokenizer of another mode.
    """
    # imported here: other modes need it only for this check
    from fastbpe.tokenizer.sequences.sequence_tokenizer import SequenceTokenizer

    if not isinstance(base, (Tokenizer, SequenceTokenizer)):
        raise not_a_tokenizer("base", base)
    if base.mode != mode:
        raise TrainingError(
            f"base= is a tokenizer of mode={base.mode!r}, which mode={mode!r} cannot extend: pass "
            f"mode={base.mode!r}, or leave mode= out"
        )


def add_pattern_of_base(base: object, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Add the base's split pattern to the keyword arguments of `ByteOptions`.

    Args:
        base: the tokenizer to extend, not checked yet.
        keywords: the arguments of the caller of `train`.

    Raises:
        TypeError: base is not a tokenizer.
        TrainingError: base is not byte-level or has superwords of whole words, or keywords contain another
            pattern than the base's.
    """
    check_mode(base, "byte")
    assert isinstance(base, Tokenizer)
    if model_of(base).supermerges is not None:
        raise TrainingError(
            "base= has superwords of whole words (BoundlessBPE). Their merges come last, so no merges can be "
            "learned after them; pass a tokenizer without such superwords, or train without base="
        )
    if "pattern" in keywords:
        shown = told_apart(keywords["pattern"], base.pattern)
        if shown is not None:
            raise TrainingError(
                f"pattern={shown[0]} is not the base's, {shown[1]}: old ids would no longer come from the same "
                "pieces; leave pattern= out"
            )
    return {**keywords, "pattern": base.pattern}
