"""Scanner of the pattern "superbpe_lines", whose matches are rare: most of a line is one piece."""

from typing import final

from fastbpe._core.split.splitter import Splitter

@final
class SuperbpeLines(Splitter): ...
