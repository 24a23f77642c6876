"""Step that replaces the matches of a pattern by a text."""

from typing import final

from fastbpe._core.normalize.text_steps import TextStep
from fastbpe._core.split.splitter import Splitter

@final
class Replaced(TextStep):
    """Step that puts one text in place of each match."""

    def __init__(self, splitter: Splitter, content: bytes) -> None: ...
