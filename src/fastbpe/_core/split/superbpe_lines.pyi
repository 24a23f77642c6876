"""Scanner of the pattern "superbpe_lines", whose matches are rare: most of a line is one piece."""

from typing import final

from fastbpe._core.split.splitter import Splitter

@final
class SuperbpeLines(Splitter):
    r"""Splitter by \p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S), where other text is a piece, too."""
