"""Decode many texts, or one long text, on several threads."""

from typing import final

@final
class Decoding: ...
