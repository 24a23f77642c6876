"""Steps that change text before it is split, as normalizers of a tokenizer.json; and their sequence, the Front."""

from collections.abc import Callable, Sequence
from typing import final

from fastbpe._core.normalize.unicode_forms import Form

class TextStep:
    """Base of the steps. This one changes nothing."""

@final
class Mapped(TextStep):
    """Step that replaces single characters, each by a text of its own."""

    def __init__(self, table: dict[int, str | None]) -> None: ...

@final
class Changed(TextStep):
    """Step that Python does."""

    def __init__(self, change: Callable[[str], str], sources: Callable[[str], Sequence[int] | None]) -> None: ...

@final
class Front:
    """Normalizer of the text between special tokens."""

    def __init__(self, steps: list[TextStep], *, form: Form | None = None, prefix_space: bool = False) -> None: ...
    @property
    def steps(self) -> list[TextStep]: ...
    @property
    def form(self) -> Form | None: ...
    @property
    def prefix_space(self) -> bool: ...
