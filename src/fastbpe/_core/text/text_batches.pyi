from collections.abc import Iterable
from typing import Any, final

from typing_extensions import Self

@final
class Windows:
    def __new__(cls, texts: Iterable[Any]) -> Self: ...
