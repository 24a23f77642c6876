"""TokenizerBase: the private methods of Tokenizer, and the objects that its public methods share."""

from __future__ import annotations

from fastbpe._core.encode.encoder import Encoder
from fastbpe._utils.arguments import integer
from fastbpe._utils.batches import items_in
from fastbpe._utils.caching import cached_property
from fastbpe.model import AddedToken, CodePointModel, Model
from fastbpe.tokenizer import own_tokens
from fastbpe.tokenizer.surgery import adding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, TypeVar

    from typing_extensions import Self

    from fastbpe._core.decode.decoder import Decoder
    from fastbpe._utils.choices import Special
    from fastbpe.tokenizer.families.family import Decoding, Family, SortedTokens
    from fastbpe.tokenizer.families.merged_tokens import MergedTokens
    from fastbpe.tokenizer.streams.stream_cuts import PairCuts
    from fastbpe.tokenizer.surgery.removing import Remover

    Made = TypeVar("Made", bound="TokenizerBase")
    Declared = TypeVar("Declared", bound=Callable[..., Any])

CACHE_BYTES = 64 << 20  # default of cache_bytes: all piece caches of a tokenizer together


def _make_family(model: Model | CodePointModel) -> Family:
    """Create the family of a model. Raises TypeError for an object that is not a model."""
    if isinstance(model, CodePointModel):  # imports are here, since most programs need one family
        from fastbpe.tokenizer.families.codepoint_family import CodePointFamily

        return CodePointFamily(model)
    if not isinstance(model, Model):
        raise TypeError(f"model must be a Model, not {type(model).__name__}; fastbpe.load reads a file")
    if model.spelling is not None:
        from fastbpe.tokenizer.families.character_family import CharacterFamily

        return CharacterFamily(model)
    from fastbpe.tokenizer.families.byte_family import ByteFamily

    return ByteFamily(model)


def compiled(method: Callable[..., Any]) -> Callable[[Declared], Declared]:
    """Replace a declaration by its compiled method, which keeps the signature and docstring of the declaration."""

    def bind(declared: Declared) -> Declared:
        bound: Any = method
        for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
            setattr(bound, name, getattr(declared, name))
        bound.__wrapped__ = declared
        return bound  # type: ignore[no-any-return]

    return bind


class TokenizerBase(Encoder):
    """A model's family, equality, and objects created at first use. `Tokenizer` adds the public methods."""

    def __init__(self, model: Model | CodePointModel, *, cache_bytes: int = CACHE_BYTES) -> None:
        """Create a tokenizer from a model. Use `load`, `train` or one of the `from_` methods instead.

        cache_bytes: number of bytes for all piece caches together.

        Raises ValueError if it is negative, TypeError if an argument has a wrong type, VocabularyError,
        SpecialTokenError, PatternError or FormatError if the model contradicts itself.
        """
        self._cache_bytes = integer("cache_bytes", cache_bytes)
        if self._cache_bytes < 0:
            raise ValueError(
                f"cache_bytes={self._cache_bytes}: must be the number of bytes for piece caches, at least 0"
            )
        self._family = _make_family(model)
        self._special = self._family.special
        if not self._family.is_lazy:
            self._prepare()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Callable[[type[Self], bytes, int], Self], tuple[type[Self], bytes, int]]:
        return _unpickle, (type(self), self._family.state(), self._cache_bytes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TokenizerBase):
            return NotImplemented
        return self is other or self._family.fingerprint == other._family.fingerprint

    def __hash__(self) -> int:
        return hash(self._family.fingerprint)

    def __repr__(self) -> str:
        family = self._family
        name = f"{family.own.name!r}, " if family.own.name else ""
        return (
            f"<fastbpe.Tokenizer {name}{family.mode} mode, {family.n_tokens} tokens ({len(self._special.ids)} "
            f"special), {family.splitting()}, {family.fingerprint[:12]}>"
        )

    # For the compiled methods

    def _prepare(self) -> None:
        self._family.prepare(self, self._cache_bytes)

    def _spelled_out(self) -> dict[int, list[int]]:
        return self._family.spelled_out()

    def _template_ids(self) -> tuple[list[int], list[int]]:
        return own_tokens.split_template(self._family.templates)

    def _finding_in_all(
        self, texts: Iterable[str | bytes], allowed_special: Special, disallowed_special: Special
    ) -> tuple[Encoder, Iterable[str | bytes]]:
        """Refuse disallowed special tokens; return an encoder that finds the allowed ones, and the texts."""
        if not allowed_special and not disallowed_special:
            return self._finding((), allowed_special, disallowed_special), texts
        listed = list(items_in(texts))
        return self._finding(listed, allowed_special, disallowed_special), listed

    # Made at first use

    @cached_property
    def _decoding(self) -> Decoding:
        return self._family.decoding(skips=False)

    @cached_property
    def _skipping(self) -> Decoding:
        """Decoding that leaves special tokens out."""
        return self._family.decoding(skips=True)

    @cached_property
    def _names(self) -> Decoder:
        return self._family.names

    @cached_property
    def _find(self) -> Callable[[bytes | str], int | None]:
        return self._family.find

    @cached_property
    def _roles(self) -> Mapping[str, int | None]:
        """Role → id; None if no token has the role."""
        named, special = self._family.named_roles(), self._special.ids
        before, behind = map(self._names.known, self._template_ids())  # a file may name ids without a token
        return own_tokens.find_roles(named, (before, behind), special, self._find)

    @cached_property
    def _pair_cuts(self) -> PairCuts | None:
        """Cuts between bytes that are adjacent in no token; None if no cuts are known."""
        return self._family.pair_cuts(self)

    @cached_property
    def _sorted_tokens(self) -> SortedTokens:
        return self._family.sorted_tokens()

    @cached_property
    def _merged_tokens(self) -> MergedTokens:
        return self._family.merged_tokens(self)

    # Other tokenizers

    def _new_tokens(self, tokens: adding.Tokens, argument: str, *, special: bool) -> list[AddedToken]:
        """List the tokens that the tokenizer does not have yet."""
        family = self._family
        known = family.known_tokens()
        return adding.new_tokens(tokens, argument, known, family.ordinary, family.n_ids, special=special)

    def _remover(self) -> Remover[Self]:
        from fastbpe.tokenizer.surgery.removing import Remover  # here: few programs need it

        return Remover(self._family.removal(self), self._of)

    def _of(self, model: Model | CodePointModel) -> Self:
        return type(self)(model, cache_bytes=self._cache_bytes)

    def _with_roles(self, roles: Mapping[str, str]) -> Self:
        return self._of(self._family.with_roles(roles))

    def _remake(self, model: Model | CodePointModel | None = None) -> Self:
        """Create a tokenizer without caches from this model or another. For `export`: see `Exportable`."""
        return type(self)(self._family.model if model is None else model, cache_bytes=0)


def _unpickle(kind: type[Made], state: bytes, cache_bytes: int) -> Made:
    from zlib import decompress

    from fastbpe.formats import native

    return kind(native.parse(decompress(state), "<pickle>"), cache_bytes=cache_bytes)
