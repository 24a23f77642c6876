"""Guard of untrusted text: replaces special ids that merging may still produce."""

from typing import final

from typing_extensions import Self

@final
class Guard:
    def __new__(cls, spelled: dict[int, list[int]]) -> Self: ...
