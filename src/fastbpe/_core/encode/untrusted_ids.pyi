"""Guard of untrusted text: replaces ids that merging may still give it."""

from typing import final

from typing_extensions import Self

@final
class Guard:
    def __new__(cls, spelled: dict[int, list[int]]) -> Self: ...
