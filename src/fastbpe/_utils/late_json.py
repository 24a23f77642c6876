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
        if name[:2] == "__":  # Python and its tools look up many, which would import json
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import json

        value = globals()[name] = getattr(json, name)
        return value
