from typing import Any

from typing_extensions import disjoint_base

@disjoint_base
class QuickStream:
    _quick: Any
    _counter: list[Any]
    _seen: object
    _known: dict[int, str | None]
    _last: int | None
    def step(self, tokenizer: Any, id: Any) -> str | None: ...
