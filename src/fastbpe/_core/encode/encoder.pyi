from collections.abc import Collection, Iterable
from typing import Any, Protocol

from typing_extensions import disjoint_base

from fastbpe._core.cache.two_phases import TwoPhases
from fastbpe._core.encode.pipeline import Pipeline
from fastbpe._core.encode.trim_spans import SpanTrimmer
from fastbpe._core.ids.id_lists import Array
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.normalize.sentencepiece_normalizer import Normalizing
from fastbpe._core.normalize.text_steps import Front
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.split.stages import Stage
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe._utils.choices import Unit

class _ChoosesSpecial(Protocol):
    @property
    def always(self) -> SpecialMatcher | None: ...
    @property
    def trusted(self) -> SpecialMatcher | None: ...
    @property
    def untrusted(self) -> SpecialMatcher | None: ...
    def choose(
        self, allowed: str | Collection[str], disallowed: str | Collection[str]
    ) -> tuple[SpecialMatcher | None, SpecialMatcher | None]: ...

@disjoint_base
class Encoder:
    def __init__(
        self,
        vocabulary: Vocabulary,
        splitter: Splitter,
        *,
        special: _ChoosesSpecial | None = None,
        front: Front | None = None,
        cache_bytes: int = ...,
        normalizing: Normalizing | None = None,
        stages: Stage | None = None,
        cut_stages: Stage | None = None,
        phases: TwoPhases | None = None,
        trimmer: SpanTrimmer | None = None,
    ) -> None: ...
    @property
    def _pipeline(self) -> Pipeline: ...
    @property
    def _is_ready(self) -> bool: ...
    def _prepare(self) -> None: ...
    def _spelled_out(self) -> dict[int, list[int]]: ...
    def _template_ids(self) -> tuple[list[int], list[int]]: ...
    def _finding(
        self,
        texts: Iterable[str | bytes],
        allowed_special: str | Collection[str],
        disallowed_special: str | Collection[str],
    ) -> Encoder: ...
    def encode(
        self,
        text: str | bytes,
        *,
        allowed_special: str | Collection[str] = ...,
        disallowed_special: str | Collection[str] = "all",
        num_threads: int | None = None,
        dropout: float | None = None,
        seed: int | None = None,
        with_template: bool = False,
    ) -> list[int]: ...
    def encode_ordinary(self, text: str | bytes, *, num_threads: int | None = None) -> list[int]: ...
    def encode_parts(self, parts: Iterable[tuple[str | bytes, bool]]) -> list[int]: ...
    def encode_batch(
        self,
        texts: Iterable[str | bytes],
        *,
        num_threads: int | None = None,
        allowed_special: str | Collection[str] = ...,
        disallowed_special: str | Collection[str] = "all",
        dropout: float | None = None,
        seed: int | None = None,
        with_template: bool = False,
    ) -> list[list[int]]: ...
    def encode_ordinary_batch(
        self, texts: Iterable[str | bytes], *, num_threads: int | None = None
    ) -> list[list[int]]: ...
    def encode_with_offsets(
        self,
        text: str | bytes,
        *,
        allowed_special: str | Collection[str] = ...,
        disallowed_special: str | Collection[str] = "all",
        unit: Unit = "char",
        as_numpy: bool = False,
    ) -> Any: ...
    def encode_batch_with_offsets(
        self,
        texts: Iterable[str | bytes],
        *,
        allowed_special: str | Collection[str] = ...,
        disallowed_special: str | Collection[str] = "all",
        unit: Unit = "char",
        as_numpy: bool = False,
    ) -> Any: ...
    def _encode_with_lists(
        self,
        texts: Iterable[str | bytes],
        allowed_special: str | Collection[str],
        disallowed_special: str | Collection[str],
        unit: Unit,
    ) -> list[tuple[list[int], list[tuple[int, int]]]]: ...
    def _encode_with_spans(
        self,
        texts: Iterable[str | bytes],
        allowed_special: str | Collection[str],
        disallowed_special: str | Collection[str],
        unit: Unit,
    ) -> tuple[Array, Array, Array]: ...
    def count(
        self,
        text: str | bytes,
        *,
        max_tokens: int | None = None,
        num_threads: int | None = None,
        allowed_special: str | Collection[str] = ...,
        disallowed_special: str | Collection[str] = (),
    ) -> int: ...
    def _encode_to_array(
        self,
        texts: Iterable[str | bytes],
        allowed_special: str | Collection[str],
        disallowed_special: str | Collection[str],
        num_threads: int | None,
    ) -> tuple[Array, Array]: ...
    def _count_to_array(self, texts: Iterable[str | bytes], num_threads: int | None) -> Array: ...
