"""Guard of untrusted text: replaces ids that merging may still give it."""

from typing import final

from typing_extensions import Self

@final
class Guard:
    """Replacer of ids by sequences of other ids.

    spelled: id to the list of ids that takes its place.
    """

    def __new__(cls, spelled: dict[int, list[int]]) -> Self: ...
