"""Functions of `json`, imported at their first use: the import is slow, and many programs need none."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from json import JSONDecodeError as JSONDecodeError
    from json import dump as dump
    from json import dumps as dumps
    from json import load as load
    from json import loads as loads
else:

    def __getattr__(name):
        import json

        value = globals()[name] = getattr(json, name)
        return value
